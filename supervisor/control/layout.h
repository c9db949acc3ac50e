/* SPDX-License-Identifier: Apache-2.0 */
/* Where Cordon's files and sockets are. The run folder can be moved by CORDON_RUN_DIR (tests); agents never see either folder. */
#pragma once

#define CORDON_RUN_DIR "/run/cordon"			/* root 0755; in agents' mounts: masked */
#define CORDON_LAUNCH_SOCKET "launch.sock"		/* 0666: anybody may ask, identity comes from the kernel */
#define CORDON_CONTROL_SOCKET "control.sock"		/* 0600 root, but health (0666 socket, checked per verb) */
#define CORDON_STATE_DIR "/var/lib/cordon"
#define CORDON_AUDIT_DIR "/var/lib/cordon/audit"
#define CORDON_POLICY_DIR "/etc/cordon/policies"	/* or --policy, or CORDON_POLICY */
#define CORDON_ENTRY_DIR "/usr/lib/cordon/entry"
#define CORDON_CLIENT "/usr/bin/cordon"
#define CORDON_SHIM "/usr/lib/cordon/cordon-shim"	/* or CORDON_SHIM (tests) */
#define CORDON_CA_DIR "/run/cordon-ca"			/* key, readable by the proxy's user only */
#define CORDON_TRUST_DIR "/etc/cordon/trust"		/* ca.pem and bundle.pem, world-readable, also in agents' mounts */
