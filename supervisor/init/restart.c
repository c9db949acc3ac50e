/* SPDX-License-Identifier: Apache-2.0 */
/* Back-off for processes that are restarted. Pure. */
#include "supervisor/init/internal.h"

#define FIRST_DELAY_MS 100
#define HEALTHY_MS 10000

bool restarts_again(struct restarts *r, uint64_t now_ms, uint64_t ran_ms, unsigned max_delay_ms, uint64_t *ret_start_ms)
{
	uint64_t oldest = r->at_ms[r->next];

	if (oldest && now_ms - oldest < RESTARTS_WINDOW_MS)
		return false;
	if (ran_ms >= HEALTHY_MS || !r->delay_ms)
		r->delay_ms = FIRST_DELAY_MS;
	else
		r->delay_ms *= 2;
	if (r->delay_ms > max_delay_ms)
		r->delay_ms = max_delay_ms;
	r->at_ms[r->next] = now_ms;
	r->next = (r->next + 1) % RESTARTS_MAX;
	r->total++;
	*ret_start_ms = now_ms + r->delay_ms;
	return true;
}
