package receiver_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/store"
	"opdeck/internal/store/inbox"
	"opdeck/internal/store/storetest"
)

// childURL names the store for a receiver process that TestKill starts.
const childURL = "OPDECK_TEST_RECEIVER_STORE"

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		if err := child(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// child is a receiver process that serves until it is killed.
func child(url string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{URL: url})
	if err != nil {
		return err
	}
	v, err := hook.NewVerifier(hook.VerifyHeader, "", hook.ParseSecrets(testSecret))
	if err != nil {
		return err
	}
	r, err := receiver.New(receiver.Options{Inbox: inbox.New(s.Bulk, "https://service.test", "machine"), Verifier: v})
	if err != nil {
		return err
	}
	server, err := receiver.Listen(ctx, r, receiver.ServerOptions{Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	fmt.Println(server.Addr())
	return server.Serve(ctx)
}

// stream posts deliveries from several senders until the receiver dies.
type stream struct {
	client *http.Client

	mu    sync.Mutex // guards the rest
	next  int
	sent  map[int]bool
	acked map[int]bool
}

// pick returns the next delivery; one in ten is one that was sent before.
func (s *stream) pick(rnd *rand.Rand) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next > 0 && rnd.IntN(10) == 0 {
		return rnd.IntN(s.next)
	}
	s.next++
	s.sent[s.next-1] = true
	return s.next - 1
}

// sender returns when a request fails; answered is called after each 200.
func (s *stream) sender(t *testing.T, url string, rnd *rand.Rand, answered func()) {
	for {
		n := s.pick(rnd)
		req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(receivertest.Body(n, "op")))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", testSecret)
		res, err := s.client.Do(req)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			s.mu.Lock()
			s.acked[n] = true
			s.mu.Unlock()
			answered()
		}
	}
}

// W21: kill -9 in the middle of a stream, 50 times on one database: every
// delivery that was acknowledged is stored, once, to the byte.
func TestKill(t *testing.T) {
	const kills, senders = 50, 4
	url := storetest.URL(t, store.SQLite)
	s := &stream{client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: senders}},
		sent: map[int]bool{}, acked: map[int]bool{}}
	defer s.client.CloseIdleConnections()
	rnd := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for round := range kills {
		err := s.round(t, url, senders, uint64(round), time.Duration(rnd.Int64N(int64(40*time.Millisecond))))
		if err != nil {
			t.Fatal(err)
		}
	}
	in := inbox.New(storetest.OpenURL(t, url).Bulk, "https://service.test", "machine")
	have := map[string]receiver.Stored{}
	for _, row := range stored(t, in) {
		if row.Status != receiver.Verified || have[row.Key].Seq != 0 {
			t.Errorf("%s is there twice or as %s", row.Key, row.Status)
		}
		have[row.Key] = row
	}
	lost := 0
	for n := range s.acked {
		if !bytes.Equal(have[receivertest.ID(n)].Raw, receivertest.Body(n, "op")) {
			lost++
		}
	}
	if lost > 0 || len(have) < len(s.acked) || len(have) > len(s.sent) || len(s.acked) < kills {
		t.Errorf("%d of %d acknowledged deliveries are lost", lost, len(s.acked))
	}
	t.Logf("%d kills: %d sent, %d acknowledged, %d stored, %d lost", kills, len(s.sent), len(s.acked), len(have), lost)
}

// round starts a receiver, sends, and kills it some time after its first answer.
func (s *stream) round(t *testing.T, url string, senders int, seed uint64, life time.Duration) error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childURL+"="+url)
	var trouble strings.Builder
	cmd.Stderr = &trouble
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Process.Kill()
		return fmt.Errorf("the receiver did not start: %s %w %w", trouble.String(), err, cmd.Wait())
	}
	var once sync.Once
	answered := make(chan struct{})
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			s.sender(t, "http://"+strings.TrimSpace(line)+"/hooks", rand.New(rand.NewPCG(seed, uint64(i))),
				func() { once.Do(func() { close(answered) }) })
		})
	}
	select {
	case <-answered:
		time.Sleep(life)
	case <-time.After(time.Minute):
		err = fmt.Errorf("no answer in ten seconds: %s", trouble.String())
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	wg.Wait()
	s.client.CloseIdleConnections()
	return err
}
