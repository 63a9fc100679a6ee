package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
)

const (
	storeRoot     = "/registry/"
	rewindTimeout = 60 * time.Second
)

// clocks are kinds that are kept by whoever is alive, not by the state: an old Lease would be a dead node.
var clocks = []string{storeRoot + "leases/", storeRoot + "masterleases/", storeRoot + "apiserver.kubernetes.io/"}

// shapes are kinds from which the API server builds what it serves and how fairly, in its own time and with state of its
// own. A cluster in which one of them changed is not rewound.
var shapes = []string{
	storeRoot + "apiextensions.k8s.io/", storeRoot + "apiregistration.k8s.io/",
	storeRoot + "validatingwebhookconfigurations/", storeRoot + "mutatingwebhookconfigurations/",
	storeRoot + "flowschemas/", storeRoot + "prioritylevelconfigurations/",
}

var (
	errNoMark  = errors.New("nothing was marked")
	errReshape = errors.New("the kinds of the cluster were changed")
)

// rewinder takes a cluster back to a marked state: what is stored is put back, and everything that acts on it is stopped
// before and started anew after. Names, UIDs and times are those of the mark; resource versions go on.
type rewinder struct {
	store  *etcdserver.EtcdServer
	ids    *identities
	dir    string
	stages stageMap
	log    io.Writer
	audit  *auditBackend
	failed func(error)

	now    *generation
	marked map[string][]byte
	kinds  []schema.GroupVersionResource // that have a cache; they do not change as long as one can go back
}

// mark keeps the stored state of now.
func (r *rewinder) mark(ctx context.Context) error {
	state, err := r.read(ctx)
	if err != nil {
		return err
	}
	kinds, err := listed(r.ids)
	if err != nil {
		return err
	}
	r.marked, r.kinds = state, kinds
	return nil
}

// rewind returns once the cluster is as it was at the mark and its components know it. After errNoMark and errReshape
// it goes on as it is; any other error leaves it unusable.
func (r *rewinder) rewind(ctx context.Context) error {
	if r.marked == nil {
		return errNoMark
	}
	if err := r.reshaped(ctx); err != nil {
		return err
	}
	r.now.stop()
	changed, err := r.restore(ctx)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := r.catchUp(ctx); err != nil {
		return fmt.Errorf("caches: %w", err)
	}
	if err := awaitAdmission(ctx, r.ids, changed); err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	if err := r.audit.restart(); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	next, err := startGeneration(r.ids, r.dir, r.failed)
	if err != nil {
		return err
	}
	r.now = next
	if err := next.startKubelets(ctx, nil, r.stages, r.log); err != nil {
		return err
	}
	return next.awaitSynced(ctx)
}

// read returns what is stored, but for clocks.
func (r *rewinder) read(ctx context.Context) (map[string][]byte, error) {
	end := []byte(storeRoot)
	end[len(end)-1]++
	found, err := r.store.Range(ctx, &pb.RangeRequest{Key: []byte(storeRoot), RangeEnd: end})
	if err != nil {
		return nil, err
	}
	state := make(map[string][]byte, len(found.Kvs))
	for _, pair := range found.Kvs {
		if key := string(pair.Key); !below(key, clocks) {
			state[key] = pair.Value
		}
	}
	return state, nil
}

func below(key string, roots []string) bool {
	for _, root := range roots {
		if strings.HasPrefix(key, root) {
			return true
		}
	}
	return false
}

// reshaped is errReshape when one of the kinds in shapes differs from the mark.
func (r *rewinder) reshaped(ctx context.Context) error {
	state, err := r.read(ctx)
	if err != nil {
		return err
	}
	for key := range sets.KeySet(state).Union(sets.KeySet(r.marked)) {
		if below(key, shapes) && !bytes.Equal(state[key], r.marked[key]) {
			return errReshape
		}
	}
	return nil
}

// restore writes back every key that differs from the mark, and returns these keys.
func (r *rewinder) restore(ctx context.Context) ([]string, error) {
	state, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	var changed []string
	for key := range state {
		if _, kept := r.marked[key]; !kept {
			if _, err := r.store.DeleteRange(ctx, &pb.DeleteRangeRequest{Key: []byte(key)}); err != nil {
				return nil, err
			}
			changed = append(changed, key)
		}
	}
	for key, value := range r.marked {
		if now, present := state[key]; !present || !bytes.Equal(now, value) {
			if _, err := r.store.Put(ctx, &pb.PutRequest{Key: []byte(key), Value: value}); err != nil {
				return nil, err
			}
			changed = append(changed, key)
		}
	}
	return changed, nil
}

// catchUp returns when the API server's caches hold what is stored. Components begin with a list from these caches, and
// would act on what was there before. A list that names no version waits for its cache.
func (r *rewinder) catchUp(ctx context.Context) error {
	client, err := metadata.NewForConfig(r.ids.restConfig(userKubelet, kubeletAgent))
	if err != nil {
		return err
	}
	var lists []func(context.Context) error
	for _, kind := range r.kinds {
		lists = append(lists, func(ctx context.Context) error {
			_, err := client.Resource(kind).List(ctx, metav1.ListOptions{Limit: 1})
			return err
		})
	}
	return inParallel(ctx, lists)
}

// listed returns the kinds that have a cache: those that can be listed and watched. Groups that nobody serves (an
// aggregated API that is down) have none.
func listed(ids *identities) ([]schema.GroupVersionResource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(ids.restConfig(userKubelet, kubeletAgent))
	if err != nil {
		return nil, err
	}
	lists, err := client.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, err
	}
	var kinds []schema.GroupVersionResource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if sets.New(resource.Verbs...).HasAll("list", "watch") {
				kinds = append(kinds, version.WithResource(resource.Name))
			}
		}
	}
	return kinds, nil
}
