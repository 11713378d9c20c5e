package receiver_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/api/hook"
	"opdeck/internal/receiver"
	"opdeck/internal/receiver/receivertest"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// BenchmarkDurable measures deliveries that were signed, judged, read, stored
// and answered 200, beside the plain insertion of the same bytes in batches of
// 64 through one prepared statement, on the same disk.
//
//	go test -run '^$' -bench Durable -benchtime 30000x ./internal/receiver
func BenchmarkDurable(b *testing.B) {
	b.Run("raw", benchRaw)
	b.Run("inbox", benchInbox)
	for _, senders := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("handler/senders=%d", senders), func(b *testing.B) { benchReceiver(b, senders, false) })
	}
	b.Run("tcp/senders=64", func(b *testing.B) { benchReceiver(b, 64, true) })
}

const benchBatch = 64

func benchRaw(b *testing.B) {
	s := storetest.Open(b, store.SQLite)
	db, err := sql.Open("sqlite", "file:"+s.Bulk.Path()+"?_txlock=immediate&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	insert, err := db.Prepare(`INSERT INTO hook (hook_key, hook_id, hook_type, object, object_id, cuid, raw, body_sha256, received_us, source,
 verifier, authenticated, bound, status, reason, detail, last_us) VALUES (?,?,1,'Operation',?,'D1',?,?,?,'192.0.2.1','jwt',1,1,'verified','','',?)`)
	if err != nil {
		b.Fatal(err)
	}
	records := make([]receiver.Record, b.N)
	for i := range records {
		records[i] = receivertest.Record(i, "op")
	}
	b.ResetTimer()
	spent := cpuTime()
	for batch := range slices.Chunk(records, benchBatch) {
		tx, err := db.Begin()
		if err != nil {
			b.Fatal(err)
		}
		st := tx.Stmt(insert)
		for _, r := range batch {
			us := r.ReceivedAt.UnixMicro()
			if _, err := st.Exec(r.Key, r.HookID, string(r.ObjectID), r.Raw, r.Hash[:], us, us); err != nil {
				b.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	report(b, spent)
}

// benchInbox is benchRaw through Inbox.Insert.
func benchInbox(b *testing.B) {
	in := store.NewInbox(storetest.Open(b, store.SQLite).Bulk)
	records := make([]receiver.Record, b.N)
	for i := range records {
		records[i] = receivertest.Record(i, "op")
	}
	b.ResetTimer()
	spent := cpuTime()
	for batch := range slices.Chunk(records, benchBatch) {
		if _, err := in.Insert(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
	}
	report(b, spent)
}

// report adds the rate and the processor time an event took, which other work
// on the machine hardly changes.
func report(b *testing.B, spent time.Duration) {
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64((cpuTime()-spent).Nanoseconds())/float64(b.N)/1000, "cpu-µs/event")
}

func benchReceiver(b *testing.B, senders int, tcp bool) {
	r := start(b, receiver.Options{Inbox: store.NewInbox(storetest.Open(b, store.SQLite).Bulk), PerSource: -1})
	send := func(req *http.Request) int { return serve(r, req).Code }
	if tcp {
		send = overTCP(b, r)
	}
	requests := make([]*http.Request, b.N) // signing is the sender's work
	for i := range requests {
		requests[i] = request(b, receivertest.Body(i, "op"))
	}
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var failed atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	spent := cpuTime()
	for range senders {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= b.N {
					return
				}
				began := time.Now()
				if send(requests[i]) != 200 {
					failed.Add(1)
				}
				took[i] = time.Since(began)
			}
		})
	}
	wg.Wait()
	report(b, spent)
	slices.Sort(took)
	b.ReportMetric(float64(took[b.N/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[b.N*99/100].Microseconds())/1000, "p99-ms")
	if n := failed.Load(); n > 0 {
		b.Errorf("%d of %d were not answered 200", n, b.N)
	}
}

// overTCP serves r on a port and returns a sender with connections of its own.
func overTCP(b *testing.B, r *receiver.Receiver) func(*http.Request) int {
	s, err := receiver.Listen(context.Background(), r, receiver.ServerOptions{Listen: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	b.Cleanup(func() {
		client.CloseIdleConnections()
		stop()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	url := "http://" + s.Addr().String() + "/hooks"
	return func(in *http.Request) int {
		body, _ := io.ReadAll(in.Body)
		req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return 0
		}
		req.Header = in.Header
		res, err := client.Do(req)
		if err != nil {
			return 0
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return res.StatusCode
	}
}

// BenchmarkDecode measures reading, BenchmarkVerify judging, of one delivery.
func BenchmarkDecode(b *testing.B) {
	body := receivertest.Body(1, strings.Repeat("x", 36))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := hook.Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	v := verifier(b, hook.VerifyJWT)
	body := receivertest.Body(1, "op")
	d := hook.Delivery{Header: request(b, body).Header, Body: body, At: clock}
	for b.Loop() {
		if _, err := v.Verify(d); err != nil {
			b.Fatal(err)
		}
	}
}
