package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

// generation is all that acts on a cluster by itself: controllers, scheduler, kubelets. A stopped one never acts again; the
// next one finds the cluster as after a restart of these components.
type generation struct {
	ctx    context.Context // ends with the generation
	cancel context.CancelFunc
	gate   *gate
	ids    *identities // whose clients pass the gate
	client kubernetes.Interface
	synced chan struct{} // one for each part that has read all there is
}

// parts is how many parts of a generation tell when they are synced.
const parts = 2

// startGeneration starts the controllers and the scheduler. What ends by itself is told to failed.
func startGeneration(ids *identities, dir string, failed func(error)) (*generation, error) {
	gate := &gate{}
	gated := ids.behind(gate)
	client, err := kubernetes.NewForConfig(gated.protobufConfig(userKubelet, kubeletAgent))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &generation{ctx: ctx, cancel: cancel, gate: gate, ids: gated, client: client, synced: make(chan struct{}, parts)}
	synced := func() { g.synced <- struct{}{} }
	run := func(name string, work func() error) {
		go func() {
			err := work()
			if ctx.Err() != nil {
				return
			}
			if err == nil {
				err = errors.New("stopped")
			}
			failed(fmt.Errorf("%s: %w", name, err))
		}()
	}
	run("kube-controller-manager", func() error { return runControllers(ctx, gated, dir, synced) })
	run("kube-scheduler", func() error { return runScheduler(ctx, gated, synced) })
	return g, nil
}

// startKubelets starts what plays the kubelets of the nodes, first registering those that are new.
func (g *generation) startKubelets(ctx context.Context, nodes []*corev1.Node, stages stageMap, log io.Writer) error {
	if err := createNodes(ctx, g.client, nodes); err != nil {
		return err
	}
	go renewLeases(g.ctx, g.client)
	if err := startKubelets(g.ctx, g.ids, stages, log); err != nil {
		return fmt.Errorf("kubelets: %w", err)
	}
	return nil
}

// awaitSynced returns when controllers and scheduler know the cluster.
func (g *generation) awaitSynced(ctx context.Context) error {
	for range parts {
		select {
		case <-g.synced:
		case <-ctx.Done():
			return errors.New("controllers and scheduler did not get to know the cluster")
		}
	}
	return nil
}

// stop returns when nothing of the generation can act any more.
func (g *generation) stop() {
	g.cancel()
	g.gate.close()
}
