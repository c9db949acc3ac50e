# SPDX-License-Identifier: Apache-2.0
# Containers with sources, for the tests of workspaces. Sourced after lib.sh. Sources and state outlive the containers, as bind mounts and volumes do.

KEEP=$WORK/keep
SOURCE_APP=$KEEP/sources/app
mkdir -p "$KEEP/sources" "$KEEP/state"
need_folder /cordon

# write_before KIND: every folder of KEEP/sources is a source, mounted with SOURCE_OPTIONS; then what BEFORE says. KIND copy: the state folder lies on
# an overlay, which can hold no other. STATE: the folder of KEEP/state that is the volume, instead of KIND's own.
write_before() {
	cat >"$WORK/before" <<-BEFORE
	mount -t tmpfs -o mode=0755 tmpfs /cordon
	mkdir /cordon/sources
	cd /srv/keep/sources
	for source in *; do
		[ -d "\$source" ] || continue
		mkdir "/cordon/sources/\$source"
		mount --bind "/srv/keep/sources/\$source" "/cordon/sources/\$source"
		mount -o remount,bind,${SOURCE_OPTIONS:-ro} "/cordon/sources/\$source"
	done
	cd /
	state=/srv/keep/state/${STATE:-}
	if [ $1 = copy ]; then
		mkdir -p /srv/keep/lower "\$state/upper" "\$state/work"
		mount -t overlay overlay -o "lowerdir=/srv/keep/lower,upperdir=\$state/upper,workdir=\$state/work" /var/lib/cordon
	else
		mkdir -p "\$state/overlay"
		mount --bind "\$state/overlay" /var/lib/cordon
	fi
	${BEFORE:-}
	BEFORE
}

# container KIND [MODE]
container() {
	write_before "$1"
	fixture_start "${2:-guarded}"
}

# tree FOLDER: every object with type, mode, owner, size, time, content and attributes, in the words of this file system.
tree() {
	python3 "$HERE/tree.py" "$@"
}

same_trees() {	# NAME EXPECTED FOUND
	local differences
	differences=$(diff "$2" "$3" | cut -c1-200 | head -n 20)
	if [ -z "$differences" ]; then ok "$1"; else not_ok "$1" "$differences"; fi
}
