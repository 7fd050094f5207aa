// Package prom gives the metrics of a scheduler to Prometheus. It is a package of its own, so that
// programs that do not import it do not link the Prometheus client.
//
//	m := prom.New(prom.Options{})
//	a, err := ax.New(st, ax.Config{Observer: m.Observer()})
//	m.Watch(a)
//	prometheus.MustRegister(m)
//
// One Collector serves one scheduler. Two of one process are told apart by a label of the registry:
// prometheus.WrapRegistererWith.
//
// Labels are bounded: kinds beyond [Options.MaxKinds] are counted as "other", all other labels are
// words of ax, and no id or key is ever a label. docs/metrics.md lists the metrics, with what to
// alert on.
package prom
