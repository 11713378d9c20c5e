package receiver_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
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
	"opdeck/internal/system/listen/listentest"
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
	v, err := hook.NewVerifier(hook.VerifyJWT, "", hook.ParseSecrets(testSecret))
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

	mu     sync.Mutex // guards the rest
	next   int
	soon   []int // not sent yet
	sent   map[int]bool
	acked  map[int]bool
	forged int
}

// pick returns a delivery: one of the next 16 in any order, or for one in ten one of the earlier ones.
func (s *stream) pick(rnd *rand.Rand) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next > 16 && rnd.IntN(10) == 0 {
		return rnd.IntN(s.next - 16)
	}
	for len(s.soon) < 16 {
		s.soon = append(s.soon, s.next)
		s.next++
	}
	i := rnd.IntN(len(s.soon))
	n := s.soon[i]
	s.soon = slices.Delete(s.soon, i, i+1)
	s.sent[n] = true
	return n
}

// sender returns when a request fails; answered is called after each 200.
func (s *stream) sender(t *testing.T, url string, rnd *rand.Rand, answered func()) {
	for {
		n, forged := s.pick(rnd), rnd.IntN(10) == 0
		body, key := receivertest.Body(n, "op"), testSecret
		if forged {
			body, key = receivertest.Body(n, "forged"), "another-Secret_9f8e7d6c5b4a3210ZYXW"
		}
		req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		receivertest.Sign(req.Header, "", "", key, body, time.Now())
		res, err := s.client.Do(req)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		switch {
		case forged:
			s.mu.Lock()
			s.forged++
			s.mu.Unlock()
			if res.StatusCode != http.StatusUnauthorized {
				t.Errorf("a forged delivery was answered %d", res.StatusCode)
			}
		case res.StatusCode == http.StatusOK:
			s.mu.Lock()
			s.acked[n] = true
			s.mu.Unlock()
			answered()
		}
	}
}

// W21: kill -9 in the middle of a stream of deliveries, duplicates and forgeries in any order, beside silent senders:
// every delivery that was acknowledged is stored, once, to the byte, and no forgery. OPDECK_TEST_LONG=1 is at least
// 20,000 deliveries and 300 silent senders.
func TestKill(t *testing.T) {
	const senders = 4
	kills, least, silent, life := 10, 0, 30, 40*time.Millisecond
	if os.Getenv("OPDECK_TEST_LONG") == "1" {
		kills, least, silent, life = 50, 20_000, 300, time.Second
	}
	url := storetest.URL(t, store.SQLite)
	s := &stream{client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: senders}},
		sent: map[int]bool{}, acked: map[int]bool{}}
	defer s.client.CloseIdleConnections()
	rnd := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	round := 0
	for ; round < kills || len(s.sent) < least; round++ {
		err := s.round(t, url, senders, silent, uint64(round), time.Duration(rnd.Int64N(int64(life))))
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
	t.Logf("%d kills, %d silent: %d sent, %d acknowledged, %d stored, %d lost, %d forged", round, silent, len(s.sent),
		len(s.acked), len(have), lost, s.forged)
}

// round starts a receiver, sends, and kills it some time after its first answer.
func (s *stream) round(t *testing.T, url string, senders, silent int, seed uint64, life time.Duration) error {
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
	addr := strings.TrimSpace(line)
	stop, _ := listentest.Silent(t, silent, func(int) (net.Conn, error) { return net.Dial("tcp", addr) }, "",
		"POST /hooks HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
	var once sync.Once
	answered := make(chan struct{})
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			s.sender(t, "http://"+addr+"/hooks", rand.New(rand.NewPCG(seed, uint64(i))),
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
	stop()
	s.client.CloseIdleConnections()
	return err
}
