# SPDX-License-Identifier: Apache-2.0
# needs: cargo
# A cargo build and test with threads, processes and sockets.
set -e
export CARGO_HOME=$PWD/home HOME=$PWD
mkdir -p p/src
printf '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n' >p/Cargo.toml
cat >p/src/main.rs <<'R'
use std::{io::{Read, Write}, net::{TcpListener, TcpStream}, process::Command, thread};
fn main() { println!("{}", work()); }
fn work() -> usize {
	let l = TcpListener::bind("127.0.0.1:0").unwrap();
	let a = l.local_addr().unwrap();
	let s = thread::spawn(move || for _ in 0..20 { let (mut c, _) = l.accept().unwrap(); c.write_all(b"x").unwrap(); });
	let t: Vec<_> = (0..20).map(|_| thread::spawn(move || { let mut b = Vec::new(); TcpStream::connect(a).unwrap().read_to_end(&mut b).unwrap();
		b.len() + Command::new("echo").arg("hi").output().unwrap().stdout.len() })).collect();
	let n = t.into_iter().map(|x| x.join().unwrap()).sum();
	s.join().unwrap();
	n
}
#[test] fn works() { assert_eq!(work(), 80); }
R
cd p
cargo run -q --offline
cargo test -q --offline 2>&1 | grep '^test result' | sed 's/finished.*//'
