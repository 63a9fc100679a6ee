package main

import (
	"bytes"
	"cmp"
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

var (
	errNoMark    = errors.New("nothing was marked")
	errWebhooks  = errors.New("webhooks were changed")
	errUnsettled = errors.New("the API server does not serve what it did")
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
	cached []schema.GroupVersionResource // kinds that have a cache
	served string                        // names what discovery tells of
}

// mark keeps the stored state of now.
func (r *rewinder) mark(ctx context.Context) error {
	state, err := r.read(ctx)
	if err != nil {
		return err
	}
	cached, err := listed(r.ids)
	if err != nil {
		return err
	}
	served, err := discovered(ctx, r.ids)
	if err != nil {
		return err
	}
	r.marked, r.cached, r.served = state, cached, served
	return nil
}

// rewind returns once the cluster is as it was at the mark and its components know it. After errNoMark and errWebhooks it
// goes on as it is; after any other error it is of no use.
func (r *rewinder) rewind(ctx context.Context) error {
	if r.marked == nil {
		return errNoMark
	}
	if changed, err := r.differing(ctx); err != nil || touches(changed, webhooks) {
		return cmp.Or(err, errWebhooks)
	}
	r.now.stop()
	if err := r.putBack(ctx); err != nil {
		return err
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

// putBack returns when the API server has what was stored at the mark, and serves it.
func (r *rewinder) putBack(ctx context.Context) error {
	for range rounds {
		changed, err := r.restore(ctx)
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		if touches(changed, kinds) {
			if err := awaitDiscovered(ctx, r.ids, r.served); err != nil {
				return err
			}
		}
		if err := r.catchUp(ctx); err != nil {
			return fmt.Errorf("caches: %w", err)
		}
		if err := awaitAdmission(ctx, r.ids, changed); err != nil {
			return fmt.Errorf("admission: %w", err)
		}
		if err := awaitFairness(ctx, r.ids, changed); err != nil {
			return fmt.Errorf("priority and fairness: %w", err)
		}
		// The API server has controllers of its own for these, which write what they find in between.
		if !touches(changed, kinds) && !touches(changed, fairness) {
			return nil
		}
	}
	return errUnsettled
}

// differing returns the keys whose values are not those of the mark.
func (r *rewinder) differing(ctx context.Context) ([]string, error) {
	state, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	var keys []string
	for key := range sets.KeySet(state).Union(sets.KeySet(r.marked)) {
		now, present := state[key]
		if marked, kept := r.marked[key]; present != kept || !bytes.Equal(now, marked) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// restore writes back every key that differs from the mark, and returns these keys.
func (r *rewinder) restore(ctx context.Context) ([]string, error) {
	changed, err := r.differing(ctx)
	if err != nil {
		return nil, err
	}
	for _, key := range changed {
		if value, kept := r.marked[key]; kept {
			_, err = r.store.Put(ctx, &pb.PutRequest{Key: []byte(key), Value: value})
		} else {
			_, err = r.store.DeleteRange(ctx, &pb.DeleteRangeRequest{Key: []byte(key)})
		}
		if err != nil {
			return nil, err
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
	for _, kind := range r.cached {
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
