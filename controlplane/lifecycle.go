package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

// endDeadline bounds the time from the wish to end until the process is gone. Components are not asked to stop: that takes
// them seconds, and nothing here outlives the cluster.
const endDeadline = 800 * time.Millisecond

// ending is the only way out of "kube up" once it has a directory.
type ending struct {
	once    sync.Once
	dir     string // removed at the end; empty: nothing to remove
	stderr  io.Writer
	signals chan os.Signal
}

// newEnding keeps signals that come from now on until watch, so that none kills the process while it has a directory.
func newEnding(stderr io.Writer) *ending {
	e := &ending{stderr: stderr, signals: make(chan os.Signal, 1)}
	signal.Notify(e.signals, syscall.SIGTERM, syscall.SIGINT)
	// Reading a terminal from the background would stop the process.
	signal.Ignore(syscall.SIGTTIN, syscall.SIGPIPE, syscall.SIGHUP)
	return e
}

// watch ends the process on SIGTERM or SIGINT, and at the end of input unless that is nil. Input is what ties the
// cluster's life to whoever holds the other end of a pipe, however that one dies.
func (e *ending) watch(input io.Reader) {
	go func() {
		<-e.signals
		e.now(0, "")
	}()
	if input != nil {
		go func() {
			_, err := io.Copy(io.Discard, input)
			if err == nil || errors.Is(err, os.ErrClosed) {
				e.now(0, "")
			}
		}()
	}
	klog.OsExit = func(int) { e.fail(errors.New("a component gave up")) }
}

func (e *ending) fail(err error) { e.now(1, "kube up: "+oneLine(err.Error())) }

// now removes the directory and exits, within endDeadline. Later callers wait for the first one.
func (e *ending) now(status int, message string) {
	e.once.Do(func() {
		if message != "" {
			fmt.Fprintln(e.stderr, message)
		}
		time.AfterFunc(endDeadline, func() { os.Exit(status) })
		for e.dir != "" && os.RemoveAll(e.dir) != nil {
			time.Sleep(5 * time.Millisecond) // a component has just made another file in it
		}
		os.Exit(status)
	})
	select {}
}

// oneLine joins the lines of a message, so that one failure is one line for whoever reads standard error.
func oneLine(text string) string {
	line := make([]rune, 0, len(text))
	for _, r := range text {
		if r == '\n' || r == '\r' || r == '\t' {
			r = ' '
		}
		line = append(line, r)
	}
	return string(line)
}
