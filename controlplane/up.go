package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver"
	corev1 "k8s.io/api/core/v1"

	"devops-bench/controlplane/pins"
)

// bootTimeout is far beyond any start that is still going to succeed, also on a machine that is busy.
const bootTimeout = 120 * time.Second

// upOptions are what "kube up" was asked for. Paths are absolute.
type upOptions struct {
	dir        string
	nodesFile  string
	stageFiles []string
	auditBytes int64
	keepDir    bool
	stdin      string
}

// readyLine is the one line on standard output.
type readyLine struct {
	Server      string            `json:"server"`
	PID         int               `json:"pid"`
	Dir         string            `json:"dir"`
	Kubeconfigs map[string]string `json:"kubeconfigs"`
	AuditLog    string            `json:"audit_log"`
	Kubernetes  string            `json:"kubernetes"`
	Nodes       int               `json:"nodes"`
	Seconds     float64           `json:"seconds"`
}

func up(args []string) int {
	started := time.Now()
	startFast()
	options, err := parseUp(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kube up:", oneLine(err.Error()))
		return 2
	}
	end := newEnding(os.Stderr)
	stdout, err := takeStdout()
	if err != nil {
		end.fail(err)
	}
	nodes, err := readNodes(options.nodesFile)
	if err != nil {
		end.fail(err)
	}
	stages, err := loadStages(options.stageFiles)
	if err != nil {
		end.fail(err)
	}
	if err := claimDir(options.dir); err != nil {
		end.fail(err)
	}
	if !options.keepDir {
		end.dir = options.dir
	}
	var input io.Reader = os.Stdin
	if options.stdin != "watch" {
		input = nil
	}
	end.watch(input)
	line, state, err := boot(options, nodes, stages, end)
	if err != nil {
		end.fail(err)
	}
	percent := settledPercent
	if options.stdin == "commands" {
		percent = provingPercent
	}
	settle(percent)
	line.Seconds = float64(time.Since(started).Milliseconds()) / 1000
	if err := json.NewEncoder(stdout).Encode(line); err != nil {
		end.fail(err)
	}
	if options.stdin == "commands" {
		obey(os.Stdin, stdout, state, end)
	}
	select {}
}

func parseUp(args []string) (upOptions, error) {
	options := upOptions{auditBytes: defaultAuditBytes}
	flags := flag.NewFlagSet("kube up", flag.ContinueOnError)
	flags.StringVar(&options.dir, "dir", "", "directory of the cluster: absent or empty, removed at the end (required)")
	flags.StringVar(&options.nodesFile, "nodes", "", "YAML file with the nodes (default: node-0, node-1, node-2)")
	flags.Func("stages", "YAML file with kwok stages to add; may be repeated", func(path string) error {
		options.stageFiles = append(options.stageFiles, path)
		return nil
	})
	flags.Int64Var(&options.auditBytes, "audit-max-bytes", options.auditBytes, "size at which the audit log ends")
	flags.BoolVar(&options.keepDir, "keep-dir", false, "leave the directory behind")
	flags.StringVar(&options.stdin, "stdin", "watch", "watch: end when standard input ends; commands: that, and obey its lines; ignore: do not look at it")
	if err := flags.Parse(args); err != nil {
		return options, err
	}
	switch {
	case flags.NArg() > 0:
		return options, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case options.dir == "":
		return options, errors.New("--dir is required")
	case options.auditBytes <= 0:
		return options, errors.New("--audit-max-bytes must be positive")
	case !slices.Contains([]string{"watch", "commands", "ignore"}, options.stdin):
		return options, fmt.Errorf("--stdin is %q; it must be watch, commands or ignore", options.stdin)
	}
	var err error
	for _, path := range []*string{&options.dir, &options.nodesFile} {
		if *path != "" && err == nil {
			*path, err = filepath.Abs(*path)
		}
	}
	return options, err
}

// claimDir makes dir ours: absent or empty before, private after. It becomes the working directory, so that socket names
// stay short whatever the depth.
func claimDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty; a cluster needs a directory of its own", dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	return os.Chdir(dir)
}

// boot starts everything and returns when the cluster is usable. What fails later ends the process through end.
func boot(options upOptions, nodes []*corev1.Node, stages stageMap, end *ending) (*readyLine, *rewinder, error) {
	ctx := context.Background()
	starting, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	log, err := setUpLogging(filepath.Join(options.dir, logFile))
	if err != nil {
		return nil, nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}

	var store *etcdserver.EtcdServer
	etcdReady := make(chan error, 1)
	go func() {
		var err error
		store, err = startEtcd(starting, options.dir, log, end.fail)
		etcdReady <- err
	}()
	ids, err := newIdentities(options.dir, "https://"+listener.Addr().String(), firstServiceIP)
	if err != nil {
		return nil, nil, fmt.Errorf("certificates: %w", err)
	}
	kubeconfigs, err := ids.writeKubeconfigs(options.dir)
	if err != nil {
		return nil, nil, err
	}
	auditLog := filepath.Join(options.dir, auditFile)
	backend, err := newAuditBackend(auditLog, options.auditBytes)
	if err != nil {
		return nil, nil, err
	}
	if err := <-etcdReady; err != nil {
		return nil, nil, fmt.Errorf("etcd: %w", err)
	}
	if err := callStoreDirectly(ctx, store); err != nil {
		return nil, nil, err
	}
	go func() {
		err := runAPIServer(ctx, ids, options.dir, listener, backend)
		if err == nil {
			err = errors.New("stopped")
		}
		end.fail(fmt.Errorf("kube-apiserver: %w", err))
	}()
	state := &rewinder{
		store: store, ids: ids, dir: options.dir, stages: stages, log: log, audit: backend, failed: end.fail,
	}
	registered := make(chan error, 1)
	// The components need no more than a server that answers, and there are idle cycles until it is ready.
	serving := func() {
		go func() {
			var err error
			if state.now, err = startGeneration(ids, options.dir, end.fail); err == nil {
				err = state.now.startKubelets(starting, nodes, stages, log)
			}
			registered <- err
		}()
	}
	if err := awaitReadyz(starting, ids.restConfig(userAdmin, "kube"), serving); err != nil {
		return nil, nil, err
	}
	if err := <-registered; err != nil {
		return nil, nil, err
	}
	if err := awaitUsable(starting, state.now.client, len(nodes)); err != nil {
		return nil, nil, err
	}
	return &readyLine{
		Server: ids.server, PID: os.Getpid(), Dir: options.dir, Kubeconfigs: kubeconfigs, AuditLog: auditLog,
		Kubernetes: pins.All().Kubernetes, Nodes: len(nodes),
	}, state, nil
}
