/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "shim/proto.h"

/* Serves channel until it hangs up. Returns an exit status. */
int hand_main(const struct zygote_hand *order, int channel);
