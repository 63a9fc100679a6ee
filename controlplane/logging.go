package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"syscall"

	"google.golang.org/grpc/grpclog"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

const (
	logFile      = "plane.log"
	logFileBytes = 4 << 20 // then the file is moved to plane.log.1, so that two of them bound the log
)

// takeStdout returns standard output for our own use and gives the components nothing in its place: a stray line of theirs
// would spoil the ready line.
func takeStdout() (*os.File, error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	taken, err := syscall.Dup(syscall.Stdout)
	if err != nil {
		return nil, fmt.Errorf("standard output: %w", err)
	}
	syscall.CloseOnExec(taken)
	return os.NewFile(uintptr(taken), "stdout"), syscall.Dup3(int(null.Fd()), syscall.Stdout, 0)
}

// setUpLogging sends the components' warnings and errors to a file.
func setUpLogging(path string) (io.Writer, error) {
	writer, err := openRotating(path, logFileBytes)
	if err != nil {
		return nil, err
	}
	settings := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(settings)
	for name, value := range map[string]string{
		"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "4", "one_output": "true",
	} {
		if err := settings.Set(name, value); err != nil {
			return nil, err
		}
	}
	klog.SetOutputBySeverity("INFO", io.Discard)
	klog.SetOutputBySeverity("WARNING", writer)
	klog.SetOutputBySeverity("ERROR", writer)
	klog.SetOutputBySeverity("FATAL", writer)
	log.SetOutput(writer)
	// gRPC would log each of the many short-lived connections that the API server makes to probe the store.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, writer))
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	utilruntime.ReallyCrash = true
	return writer, nil
}

// rotatingFile is a log file and its predecessor, each of at most limit bytes and a line.
type rotatingFile struct {
	mu      sync.Mutex
	path    string
	limit   int64
	file    *os.File
	written int64
}

func openRotating(path string, limit int64) (*rotatingFile, error) {
	r := &rotatingFile{path: path, limit: limit}
	return r, r.open()
}

func (r *rotatingFile) open() (err error) {
	r.file, err = os.OpenFile(r.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	r.written = 0
	return err
}

func (r *rotatingFile) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.written > r.limit {
		r.file.Close()
		if err := os.Rename(r.path, r.path+".1"); err != nil {
			return 0, err
		}
		if err := r.open(); err != nil {
			return 0, err
		}
	}
	n, err := r.file.Write(line)
	r.written += int64(n)
	return n, err
}
