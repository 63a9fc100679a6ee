package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/url"
	"path/filepath"
	"reflect"
	"time"
	"unsafe"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	etcdDir = "etcd"
	// Socket names are relative to the working directory, which is the cluster's: a socket's path may have 108 bytes at
	// most, and that directory may be deeper.
	etcdSocket     = "etcd.sock"
	etcdPeerSocket = "etcd-peer.sock"
	etcdEndpoint   = "unix://" + etcdSocket

	etcdQuotaBytes = 1 << 30
	walSegment     = 4 << 20 // bytes; the default of 64 MB is allocated twice before the first write

	// raftTick is how often a store of one member, which nobody challenges, looks at its clock.
	raftTick = time.Second
)

// startEtcd runs the store and returns when it serves. Its data need not survive a crash, so nothing waits for the disk.
func startEtcd(ctx context.Context, dir string, log io.Writer, failed func(error)) (*etcdserver.EtcdServer, error) {
	wal.SegmentSizeBytes = walSegment
	config := embed.NewConfig()
	config.Name = "etcd"
	config.Dir = filepath.Join(dir, etcdDir)
	config.UnsafeNoFsync = true
	config.QuotaBackendBytes = etcdQuotaBytes
	config.WarningUnaryRequestDuration = math.MaxInt64 // else slow requests are written out as text, for a log nobody keeps
	// One member elects itself after at most two election times. What is short for that would wake an idle process two
	// hundred times a second, so it does not stay.
	config.TickMs, config.ElectionMs = 10, 50
	config.ListenClientUrls = []url.URL{{Scheme: "unix", Host: etcdSocket}}
	config.ListenPeerUrls = []url.URL{{Scheme: "unix", Host: etcdPeerSocket}}
	// Advertised addresses must look like host:port. Nothing listens there and nobody asks.
	config.AdvertiseClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:2379"}}
	config.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:2380"}}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(
		zapcore.NewCore(zapcore.NewConsoleEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(log), zap.ErrorLevel),
		zap.WithFatalHook(endHook(failed)), zap.WithPanicHook(endHook(failed))))

	server, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	go func() {
		if err := <-server.Err(); err != nil {
			failed(fmt.Errorf("etcd: %w", err))
		}
	}()
	select {
	case <-server.Server.ReadyNotify():
		return server.Server, slowTicks(server.Server)
	case <-server.Server.StopNotify():
		return nil, fmt.Errorf("etcd stopped while starting")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// slowTicks sets the interval of an elected store's clock to raftTick. The store has one setting for before and after.
func slowTicks(store *etcdserver.EtcdServer) error {
	field := reflect.ValueOf(store).Elem().FieldByName("r").FieldByName("ticker")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*time.Ticker]() {
		return fmt.Errorf("this version has its clock in another place")
	}
	(*(**time.Ticker)(unsafe.Pointer(field.UnsafeAddr()))).Reset(raftTick)
	return nil
}

// endHook makes of etcd's fatal and panicking log lines an ordered end. By itself its logger would leave with status 1 or 2
// in the middle of an end that was asked for, when the directory goes before the store does.
type endHook func(error)

func (failed endHook) OnWrite(entry *zapcore.CheckedEntry, _ []zapcore.Field) {
	failed(fmt.Errorf("etcd: %s", entry.Message))
}
