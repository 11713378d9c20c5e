package receiver_test

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/store"
	"opdeck/internal/store/inbox"
	"opdeck/internal/store/storetest"
)

// W21: a full disk is 503, never 200; what was answered 200 can be read all the
// while, and room on the disk heals the receiver without a restart.
func TestFullDisk(t *testing.T) {
	ctx := context.Background()
	db := storetest.Open(t, store.SQLite).Bulk
	in := inbox.New(db, "https://service.test", "machine")
	r := start(t, receiver.Options{Inbox: in})
	if err := db.Exec(ctx, "PRAGMA max_page_count = 120"); err != nil { // about 480 kB
		t.Fatal(err)
	}
	var mu sync.Mutex
	acked, refused := map[int]bool{}, 0
	var wg sync.WaitGroup
	for sender := range 4 {
		wg.Go(func() {
			for n := sender; n < 400; n += 4 {
				body := receivertest.Body(n, "op")
				body = append(bytes.Repeat([]byte(" "), 2000), body...)
				w := serve(r, request(t, body))
				mu.Lock()
				switch w.Code {
				case 200:
					acked[n] = true
				case 503:
					refused++
					if w.Header().Get("Retry-After") == "" {
						t.Error("503 without Retry-After")
					}
				default:
					t.Errorf("answer %d", w.Code)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	rows := stored(t, in)
	if len(acked) < 20 || refused < 100 || len(rows) != len(acked) {
		t.Fatalf("%d acknowledged, %d refused, %d rows", len(acked), refused, len(rows))
	}
	for n := range acked {
		if _, err := in.Get(ctx, receivertest.ID(n)); err != nil {
			t.Errorf("%d was acknowledged: %v", n, err)
		}
	}
	if err := db.Exec(ctx, "PRAGMA max_page_count = 100000"); err != nil {
		t.Fatal(err)
	}
	deliver(t, r, receivertest.Body(1000, "op"), 200)
	for n := range 400 { // the sender comes again
		if !acked[n] {
			deliver(t, r, append(bytes.Repeat([]byte(" "), 2000), receivertest.Body(n, "op")...), 200)
		}
	}
	if n := len(stored(t, in)); n != 401 {
		t.Errorf("%d rows", n)
	}
}
