# SPDX-License-Identifier: Apache-2.0
# needs: go
# A Go test binary: a hundred goroutines that exec, http and UNIX sockets, files, signals and process groups.
set -e
export GOCACHE=$PWD/cache GOFLAGS=-mod=mod GO111MODULE=on GOPROXY=off HOME=$PWD GOTMPDIR=$PWD
mkdir module
cd module
printf 'module m\n\ngo 1.19\n' >go.mod
cat >m_test.go <<'G'
package m

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"
)

func many(n int, work func(int)) {
	var w sync.WaitGroup
	for i := 0; i < n; i++ {
		w.Add(1)
		go func(i int) { defer w.Done(); work(i) }(i)
	}
	w.Wait()
}

func TestExec(t *testing.T) {
	many(100, func(i int) {
		if out, err := exec.Command("echo", "hi").Output(); err != nil || string(out) != "hi\n" {
			t.Error(err, string(out))
		}
	})
}

func TestHttp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") }))
	many(50, func(i int) {
		r, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		if b, _ := io.ReadAll(r.Body); string(b) != "ok" {
			t.Error(string(b))
		}
	})
	_, err = net.DialTimeout("tcp", "127.0.0.1:1", time.Second)
	if err == nil || err.(*net.OpError).Err.(*os.SyscallError).Err != syscall.ECONNREFUSED {
		t.Error(err)
	}
}

func TestUnix(t *testing.T) {
	buf := make([]byte, 9)
	for _, kind := range []string{"unix", "unixpacket"} {
		s, err := net.Listen(kind, "/tmp/go-"+kind)
		if err != nil {
			t.Fatal(err)
		}
		go func() { c, _ := s.Accept(); n, _ := c.Read(buf); c.Write(buf[:n]) }()
		c, err := net.Dial(kind, "/tmp/go-"+kind)
		if err != nil {
			t.Fatal(err)
		}
		c.Write([]byte("y"))
		if n, err := c.Read(buf); n != 1 {
			t.Error(err)
		}
	}
	u, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "/tmp/go-unixgram", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("unixgram", "/tmp/go-unixgram")
	if err != nil {
		t.Fatal(err)
	}
	c.Write([]byte("x"))
	if n, err := u.Read(buf); n != 1 {
		t.Error(n, err)
	}
}

func TestFiles(t *testing.T) {
	many(100, func(i int) {
		d, err := os.MkdirTemp("", "x")
		if err != nil {
			t.Error(err)
			return
		}
		if err := os.WriteFile(d+"/f", []byte("x"), 0644); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(d); err != nil {
			t.Error(err)
		}
	})
}

func TestSignals(t *testing.T) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	select {
	case <-c:
	case <-time.After(5 * time.Second):
		t.Error("no signal")
	}
	p := exec.Command("sleep", "60")
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(-p.Process.Pid, syscall.SIGTERM)
	if err := p.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Error(err)
	}
}
G
go vet ./...
go test -v -count=1 ./... | sed 's/[0-9.]*s)*$//'
