# SPDX-License-Identifier: Apache-2.0
# needs: python3 tar
# uses: setfattr rsync zip busybox inotifywait tmux vim.tiny nmap socat sshd tclsh ruby lua5.4
# Archivers with xattrs, rsync, busybox, scripts, locks, inotify, terminals, sockets, ssh, nmap, openssl, dpkg.
set -e
mkdir tree
for i in $(seq 50); do echo "$i" >"tree/f$i"; done
ln tree/f1 tree/hard
ln -s f2 tree/soft
mkfifo tree/fifo
chmod 640 tree/f3
chmod 2750 tree
! command -v setfattr >/dev/null || setfattr -n user.note -v value tree/f4
tar --xattrs --sort=name -cf tree.tar tree
mkdir out
tar --xattrs -xpf tree.tar -C out
(cd out && find . -printf '%p %y %m %l %n\n' | sort)
! command -v getfattr >/dev/null || getfattr -n user.note --only-values out/tree/f4
echo
! command -v rsync >/dev/null || { rsync -aHX tree/ synced/ && diff -r --no-dereference tree/f1 synced/hard && stat -c '%h %a' synced/f1; }
! command -v zip >/dev/null || { zip -qr z.zip tree/f1 tree/f2 && unzip -l z.zip | tail -n 1; }
cp -a tree copied && mv copied /tmp/moved && ls /tmp/moved | wc -l
if command -v busybox >/dev/null; then
	busybox sh -c 'for i in 1 2 3; do echo $i | busybox cat; done | busybox wc -l; busybox ls tree | busybox tail -n 1; busybox sha1sum tree/f1'
	busybox vi -c ':q' tree/f1 </dev/null >/dev/null 2>&1 || echo "vi $?"
	busybox httpd -f -p 127.0.0.1:18307 -h tree &
	httpd=$!
	for _ in $(seq 1000); do ! (exec 3<>/dev/tcp/127.0.0.1/18307) 2>/dev/null || break; sleep 0.05; done
	busybox wget -q -O - http://127.0.0.1:18307/f7
	kill "$httpd"
fi
(flock 9 && echo locked && flock -n tree/f5 true && echo other) 9>lock
(flock 9; (flock -n 9 || echo no; flock -n lock true || echo held) ) 9>lock
! command -v inotifywait >/dev/null || { (inotifywait -q -t 100 -e create --format %f tree & for _ in $(seq 1000); do grep -q ^inotify "/proc/$!/fdinfo/3" 2>/dev/null && break; sleep 0.05; done; : >tree/seen; wait); }
script -qec 'tty >/dev/null && stty size >/dev/null && echo on a terminal; sh -c "exit 5"' /dev/null </dev/null || echo "script $?"
if command -v tmux >/dev/null; then
	tmux -S sock -f /dev/null new-session -d -x 80 -y 24 'echo in tmux; sleep 60 & fg >/dev/null 2>&1; cat'
	for _ in $(seq 1000); do tmux -S sock capture-pane -p 2>/dev/null | grep -q 'in tmux' && break; sleep 0.05; done
	tmux -S sock capture-pane -p | head -n 1
	tmux -S sock kill-server
fi
! command -v vim.tiny >/dev/null || { printf ':s/1/edited/\n:wq\n' | vim.tiny -es tree/f1; cat tree/f1; }
python3 -m http.server 18301 --bind 127.0.0.1 -d tree >/dev/null 2>&1 &
server=$!
for _ in $(seq 1000); do ! (exec 3<>/dev/tcp/127.0.0.1/18301) 2>/dev/null || break; sleep 0.05; done
curl -sS http://127.0.0.1:18301/f9
wget -q -O - http://127.0.0.1:18301/f10
! command -v nmap >/dev/null || nmap -sT -n -Pn -p 18300-18302 127.0.0.1 | grep -vE 'Starting|Nmap done|latency'
kill "$server"
if command -v socat >/dev/null; then
	socat UNIX-LISTEN:s.sock,fork EXEC:'tr a-z A-Z' &
	for _ in $(seq 1000); do [ ! -S s.sock ] || break; sleep 0.05; done
	echo through | socat - UNIX-CONNECT:s.sock
	socat TCP4-LISTEN:18303,bind=127.0.0.1,reuseaddr PTY,link=pty,raw >/dev/null 2>&1 &
	kill %socat 2>/dev/null || kill $(jobs -p) 2>/dev/null || true
fi
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k -out c -days 2 -subj /CN=x 2>/dev/null
openssl s_server -accept 127.0.0.1:18304 -key k -cert c -www >/dev/null 2>&1 &
tls=$!
for _ in $(seq 1000); do ! (exec 3<>/dev/tcp/127.0.0.1/18304) 2>/dev/null || break; sleep 0.05; done
echo | openssl s_client -connect 127.0.0.1:18304 -CAfile c 2>/dev/null | grep -E '^Verif'
kill "$tls"
if [ -x /usr/sbin/sshd ]; then
	ssh-keygen -q -t ed25519 -N '' -f hk
	ssh-keygen -q -t ed25519 -N '' -f id
	cp id.pub authorized
	/usr/sbin/sshd -f /dev/null -o ListenAddress=127.0.0.1 -p 18305 -h "$PWD/hk" -o AuthorizedKeysFile="$PWD/authorized" -o StrictModes=no -o PidFile="$PWD/sshd.pid" -o UsePAM=no 2>&1
	for _ in $(seq 1000); do [ ! -s sshd.pid ] || break; sleep 0.05; done
	ssh -F /dev/null -i id -p 18305 -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR agent@127.0.0.1 'echo over ssh; exit 9' || echo "ssh $?"
	kill "$(cat sshd.pid)"
fi
mkdir -p pkg/DEBIAN pkg/usr/share/x
printf 'Package: x\nVersion: 1\nArchitecture: all\nMaintainer: a <a@example.test>\nDescription: x\n' >pkg/DEBIAN/control
echo content >pkg/usr/share/x/file
dpkg-deb --root-owner-group -b pkg x.deb >/dev/null
dpkg -x x.deb unpacked && cat unpacked/usr/share/x/file
dpkg --force-not-root --root="$PWD/root" --force-script-chrootless --force-depends -i x.deb >/dev/null 2>&1 || echo "dpkg $?"
mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates && : >root/var/lib/dpkg/status
dpkg --force-not-root --force-script-chrootless --root="$PWD/root" -i x.deb 2>&1 | tail -n 1
cat root/usr/share/x/file 2>/dev/null
: | xargs -P 8 -n 1 true
seq 200 | xargs -P 16 -n 1 sh -c 'echo $0' | sort -n | tail -n 1
for i in $(seq 100); do sh -c 'echo a | cat | cat'; done | wc -l
perl -e 'use Socket; socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0); if (!fork) { syswrite $b, "perl"; exit 2 } sysread $a, my $x, 9; wait; print "$x ", $? >> 8, "\n"; unlink "/etc/none" or print "$!\n"; mkdir "/usr" or print "$!\n";'
! command -v tclsh >/dev/null || echo 'set s [socket -server {apply {{c a p} {puts $c ok; close $c}}} -myaddr 127.0.0.1 18306]; set c [socket 127.0.0.1 18306]; fileevent $c readable {puts [gets $c]; set done 1}; vwait done; puts [exec echo tcl]' | tclsh
! command -v ruby >/dev/null || ruby -e 'r = 5.times.map { |i| Thread.new { `echo #{i}`.to_i } }.map(&:value); p r.sum; pid = fork { exit 3 }; Process.wait pid; p $?.exitstatus; require "socket"; s = TCPServer.new("127.0.0.1", 0); t = Thread.new { s.accept.puts "x" }; p TCPSocket.new("127.0.0.1", s.addr[1]).gets'
! command -v lua5.4 >/dev/null || lua5.4 -e 'local f = io.popen("echo lua"); print(f:read()); f:close(); print(os.rename("none", "x"))'
