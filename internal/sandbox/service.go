package sandbox

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Service is the built-in service over one data file. All state lives in the
// file: several Services on it, in one process or many, are one server.
type Service struct {
	*store
	mux     *http.ServeMux
	courier courier

	running context.Context // ends with Close; for work that outlives the call that started it
	stop    context.CancelFunc
	work    sync.WaitGroup
}

// Open opens the data file, creates it with sample data if it is new, and starts
// the deliveries of webhooks. Close ends them.
func Open(ctx context.Context, o Options) (*Service, error) {
	probe := newSettings(o)
	if err := probe.apply(o); err != nil {
		return nil, err
	}
	data, err := openStore(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("sandbox: open data: %w", err)
	}
	s := &Service{store: data, courier: courier{store: data}}
	s.mux = s.newMux()
	st, err := loadSettings(ctx, s.ro)
	if err != nil {
		s.closePools()
		return nil, err
	}
	if o.Living {
		if err := s.catchUp(ctx); err != nil {
			s.closePools()
			return nil, fmt.Errorf("sandbox: bring the data up to now: %w", err)
		}
	}
	s.running, s.stop = context.WithCancel(context.Background())
	s.work.Go(func() { s.courier.deliver(s.running) })
	if st.Activity > 0 {
		s.work.Go(func() { s.runActivity(s.running, time.Duration(st.Activity)) })
	}
	return s, nil
}

// Close stops the deliveries and closes the file. What is still in the outbox
// is delivered after the next Open.
func (s *Service) Close() error {
	s.stop()
	s.work.Wait()
	return s.closePools()
}

// Handler serves the service's paths and, under /sandbox/, the admin endpoint.
func (s *Service) Handler() http.Handler { return http.HandlerFunc(s.dispatch) }
