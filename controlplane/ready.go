package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// pollInterval is how often readiness is asked for. There is nothing to watch before the server is ready, and the last of
// these waits adds half of it to each start.
const pollInterval = 10 * time.Millisecond

// poll asks until it is ready, and tells whether that came before the end of ctx.
func poll(ctx context.Context, ready func() bool) bool {
	for !ready() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pollInterval):
		}
	}
	return true
}

// awaitReadyz returns when the API server says on /readyz that it is ready. It calls serving once, at the first answer.
func awaitReadyz(ctx context.Context, config *rest.Config, serving func()) error {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	last := "no answer"
	var first sync.Once
	ready := func() bool {
		response, err := client.Get(config.Host + "/readyz")
		if err != nil {
			last = err.Error()
			return false
		}
		first.Do(serving)
		body, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
		response.Body.Close()
		last = string(body)
		return response.StatusCode == http.StatusOK
	}
	if !poll(ctx, ready) {
		return fmt.Errorf("the API server did not become ready: %s", last)
	}
	return nil
}

// createNodes registers the nodes as their kubelets would.
func createNodes(ctx context.Context, client kubernetes.Interface, nodes []*corev1.Node) error {
	for _, node := range nodes {
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating node %s: %w", node.Name, err)
		}
	}
	return nil
}

// awaitUsable returns when every node is Ready and free of the taint that new nodes get, and pods can be made in the
// default namespace.
func awaitUsable(ctx context.Context, client kubernetes.Interface, want int) error {
	var missing string
	var err error
	usable := func() bool {
		missing, err = firstMissing(ctx, client, want)
		return err == nil && missing == ""
	}
	if !poll(ctx, usable) {
		return fmt.Errorf("the cluster did not become usable: %s (%v)", missing, err)
	}
	return nil
}

func firstMissing(ctx context.Context, client kubernetes.Interface, want int) (string, error) {
	if _, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{ResourceVersion: "0"}); err != nil {
		return "no default service account", err
	}
	// The roles that everyone binds to are put together from others by a controller.
	for _, name := range []string{"admin", "edit", "view"} {
		role, err := client.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
		if err != nil || len(role.Rules) == 0 {
			return "cluster role " + name + " is not aggregated", err
		}
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return "no nodes", err
	}
	if len(nodes.Items) < want {
		return fmt.Sprintf("%d of %d nodes", len(nodes.Items), want), nil
	}
	for i := range nodes.Items {
		if !usable(&nodes.Items[i]) {
			return "node " + nodes.Items[i].Name + " is not ready", nil
		}
	}
	return "", nil
}

func usable(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady {
			return false
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
