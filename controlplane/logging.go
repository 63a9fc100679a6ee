package main

import (
	"flag"
	"io"
	"os"
	"sync"

	"google.golang.org/grpc/grpclog"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

const (
	logFile      = "plane.log"
	logFileBytes = 4 << 20 // then the file is moved to plane.log.1, so that two of them bound the log
)

// setUpLogging sends the components' warnings and errors to a file, and keeps everything off standard output: a stray
// line there would spoil the ready line. The two descriptors are returned for our own use.
func setUpLogging(path string) (log io.Writer, err error) {
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
