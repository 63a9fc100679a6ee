package main

import (
	"context"
	"errors"
	_ "unsafe" // for go:linkname

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/feature"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	_ "k8s.io/apiserver/pkg/storage/storagebackend/factory" // has what is replaced
)

// newStoreClient is how the API server gets a client of its store, one for each kind. It has no other setting for it.
//
//go:linkname newStoreClient k8s.io/apiserver/pkg/storage/storagebackend/factory.newETCD3Client
var newStoreClient func(storagebackend.TransportConfig) (*kubernetes.Client, error)

// callStoreDirectly lets API servers of this process call the store's functions. Over gRPC, as by default, every request
// and every watched change is encoded, sent through a socket and decoded again, on a connection for each kind.
func callStoreDirectly(ctx context.Context, store *etcdserver.EtcdServer) error {
	if newStoreClient == nil {
		return errors.New("this version makes clients of its store in another place")
	}
	newStoreClient = func(storagebackend.TransportConfig) (*kubernetes.Client, error) {
		client := &kubernetes.Client{Client: v3client.New(store)}
		client.Kubernetes = client
		return client, nil
	}
	// What the store can do is asked of each address of a client, and these have none.
	feature.DefaultFeatureSupportChecker.CheckClient(ctx, addressed{v3client.New(store)}, storage.RequestWatchProgress)
	return nil
}

// addressed is a client that names an address.
type addressed struct{ *clientv3.Client }

func (addressed) Endpoints() []string { return []string{etcdEndpoint} }
