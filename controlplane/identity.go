package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Users of a cluster. Everything that is not one of ours counts as the agent's doing in the audit log.
const (
	userAdmin      = "admin"
	userAgent      = "agent"
	userAgentMCP   = "agent-mcp"
	userController = "system:kube-controller-manager"
	userScheduler  = "system:kube-scheduler"
	userKubelet    = "system:node-kubelets"

	groupMasters = "system:masters"
)

// Files inside the cluster's directory, relative to it.
const (
	pkiDir          = "pki"
	kubeconfigDir   = "kubeconfig"
	caCertFile      = pkiDir + "/ca.crt"
	caKeyFile       = pkiDir + "/ca.key"
	proxyCACertFile = pkiDir + "/front-proxy-ca.crt"
	proxyCertFile   = pkiDir + "/front-proxy.crt"
	proxyKeyFile    = pkiDir + "/front-proxy.key"
	servingCertFile = pkiDir + "/server.crt"
	servingKeyFile  = pkiDir + "/server.key"
	tokenKeyFile    = pkiDir + "/sa.key"
	tokenPubFile    = pkiDir + "/sa.pub"
)

// people are the users that get a kubeconfig file, in the order of the ready line.
var people = []struct {
	name   string
	groups []string
}{
	{name: userAdmin, groups: []string{groupMasters}},
	{name: userAgent},
	{name: userAgentMCP},
}

// identities hold the credentials of one cluster.
type identities struct {
	server string // https://127.0.0.1:PORT
	ca     *authority
	pairs  map[string]keyPair
	direct *directServer
	// inside are the transports of users that are in this process.
	inside map[string]http.RoundTripper
	gate   *gate // before all requests of these clients; nil for those that are never stopped
}

// behind returns the same identities for clients that end when the gate closes.
func (i *identities) behind(gate *gate) *identities {
	gated := *i
	gated.gate = gate
	return &gated
}

// newIdentities makes the cluster's authorities, keys and certificates and writes those that components read as files.
// clusterIP is the first service address, which in-cluster clients use for the API server.
func newIdentities(dir, server string, clusterIP net.IP) (*identities, error) {
	ca, err := newAuthority("kubernetes-ca")
	if err != nil {
		return nil, err
	}
	proxyCA, err := newAuthority("front-proxy-ca")
	if err != nil {
		return nil, err
	}
	proxy, err := proxyCA.client("front-proxy-client")
	if err != nil {
		return nil, err
	}
	hosts := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	serving, err := ca.server("kube-apiserver", hosts, []net.IP{net.IPv4(127, 0, 0, 1), clusterIP})
	if err != nil {
		return nil, err
	}
	tokenKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	tokenKeyPEM, err := privateKeyPEM(tokenKey)
	if err != nil {
		return nil, err
	}
	tokenPub, err := publicKeyPEM(tokenKey.Public())
	if err != nil {
		return nil, err
	}
	caKeyPEM, err := privateKeyPEM(ca.key)
	if err != nil {
		return nil, err
	}

	ids := &identities{
		server: server, ca: ca, pairs: map[string]keyPair{}, direct: newDirectServer(), inside: map[string]http.RoundTripper{},
	}
	for _, person := range people {
		if ids.pairs[person.name], err = ca.client(person.name, person.groups...); err != nil {
			return nil, err
		}
	}
	// The components are in the masters group so that they work before the RBAC roles are written.
	for _, user := range []string{userController, userScheduler, userKubelet} {
		if ids.pairs[user], err = ca.client(user, groupMasters); err != nil {
			return nil, err
		}
		if ids.inside[user], err = ids.direct.shownBy(ids.pairs[user].cert); err != nil {
			return nil, err
		}
	}
	files := map[string][]byte{
		caCertFile: ca.certPEM, caKeyFile: caKeyPEM,
		proxyCACertFile: proxyCA.certPEM, proxyCertFile: proxy.cert, proxyKeyFile: proxy.key,
		servingCertFile: serving.cert, servingKeyFile: serving.key,
		tokenKeyFile: tokenKeyPEM, tokenPubFile: tokenPub,
	}
	byName := make(map[string][]byte, len(files))
	for path, content := range files {
		byName[filepath.Base(path)] = content
	}
	return ids, writeFiles(filepath.Join(dir, pkiDir), byName)
}

// restConfig is the client configuration of a user. It limits nothing: the server does that, and a cluster that one
// process serves gains nothing from clients that wait.
func (i *identities) restConfig(user, userAgent string) *rest.Config {
	config := &rest.Config{Host: i.server, UserAgent: userAgent, QPS: -1, WarningHandler: rest.NoWarnings{}}
	if transport, ok := i.inside[user]; ok {
		config.Transport = transport
	} else {
		pair := i.pairs[user]
		config.TLSClientConfig = rest.TLSClientConfig{CAData: i.ca.certPEM, CertData: pair.cert, KeyData: pair.key}
	}
	if i.gate != nil {
		config.Wrap(i.gate.wrap)
	}
	return config
}

// protobufConfig is restConfig for clients that only use built-in types.
func (i *identities) protobufConfig(user, userAgent string) *rest.Config {
	config := i.restConfig(user, userAgent)
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return config
}

// writeKubeconfigs writes one self-contained file for each of the people into dir and returns name -> path.
func (i *identities) writeKubeconfigs(dir string) (map[string]string, error) {
	if err := os.MkdirAll(filepath.Join(dir, kubeconfigDir), 0o700); err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for _, person := range people {
		paths[person.name] = filepath.Join(dir, kubeconfigDir, person.name)
		if err := i.writeKubeconfig(paths[person.name], person.name); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// writeKubeconfig writes the file of one user. The names inside say nothing about where the cluster runs.
func (i *identities) writeKubeconfig(path, user string) error {
	pair := i.pairs[user]
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: i.server, CertificateAuthorityData: i.ca.certPEM}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.cert, ClientKeyData: pair.key}
	config.Contexts["default"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: user}
	config.CurrentContext = "default"
	data, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}
