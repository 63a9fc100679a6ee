// Package unmeasured turns the metrics of work queues off: nobody reads them here, and each of the eighty queues would
// wake twice a second to bring its own up to date.
package unmeasured

import (
	_ "unsafe" // for go:linkname

	"k8s.io/client-go/util/workqueue"
)

//go:linkname none k8s.io/client-go/util/workqueue.globalMetricsProvider
var none workqueue.MetricsProvider

// The first provider that is set stays. What is there before any is set measures nothing; this package is initialized
// before component-base's, which sets a real one, since of packages that are ready the first by import path is next.
func init() {
	workqueue.SetProvider(none)
}
