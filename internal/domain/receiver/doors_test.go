package receiver_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/system/listen/listentest"
)

// 300 silent posts from one source, which is the deliveries' own: all of these are
// answered in time, and after it the receiver holds nothing.
func TestSilentPosts(t *testing.T) {
	r := start(t, receiver.Options{Inbox: openInbox(t), Now: time.Now})
	addr := serving(t, r, receiver.ServerOptions{})
	stop, _ := listentest.Silent(t, 300, func(int) (net.Conn, error) { return net.Dial("tcp", addr) },
		"POST /hooks HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
	const n = 40
	answered := 0
	for i := range n {
		body := receivertest.Body(i, "op")
		req, err := http.NewRequest(http.MethodPost, "http://"+addr+"/hooks", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		receivertest.Sign(req.Header, "", "", testSecret, body, time.Now())
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: i%2 == 0}, Timeout: 5 * time.Second}
		res, err := client.Do(req)
		if err == nil {
			if res.StatusCode == 200 {
				answered++
			}
			_ = res.Body.Close()
		}
		client.CloseIdleConnections()
	}
	stop()
	least := n * 95 / 100
	if racedetector.Enabled { // reading a request takes as long as many new connections
		least = n * 80 / 100
	}
	if answered < least {
		t.Errorf("%d of %d deliveries were answered within 5 s", answered, n)
	}
}

// At the bound the oldest silent connection of the source that has most is closed, and
// no one else's.
func TestConnectionsOfOneSource(t *testing.T) {
	r := start(t, receiver.Options{Inbox: openInbox(t), Now: time.Now})
	addr := serving(t, r, receiver.ServerOptions{MaxConns: 5})
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(from string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Skip("this host has one loopback address only:", err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	other := dial("127.0.0.2")
	var mine []net.Conn
	for range 10 {
		mine = append(mine, dial("127.0.0.1"))
		time.Sleep(10 * time.Millisecond) // so that their order is known
	}
	ended := func(c net.Conn, within time.Duration) bool {
		_ = c.SetReadDeadline(time.Now().Add(within))
		_, err := c.Read(make([]byte, 1))
		return err != nil && !strings.Contains(err.Error(), "timeout")
	}
	for i, c := range mine[:6] {
		if !ended(c, 10*time.Second) {
			t.Errorf("connection %d stayed", i)
		}
	}
	for i, c := range append(mine[6:], other) {
		if ended(c, 20*time.Millisecond) {
			t.Errorf("connection %d was closed", i)
		}
	}
}

// A connection whose delivery is being stored does not give way, and its answer
// arrives.
func TestWorkIsNotCutOff(t *testing.T) {
	in := &failing{Inbox: openInbox(t), gate: make(chan struct{})}
	r := start(t, receiver.Options{Inbox: in, Now: time.Now})
	addr := serving(t, r, receiver.ServerOptions{MaxConns: 2})
	body := receivertest.Body(1, "op")
	h := http.Header{}
	receivertest.Sign(h, "", "", testSecret, body, time.Now())
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintf(c, "POST /hooks HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Length: %d\r\n\r\n%s",
		h.Get("Authorization"), len(body), body); err != nil {
		t.Fatal(err)
	}
	in.gate <- struct{}{} // it is with the inbox now
	for range 20 {
		x, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = x.Close() }()
	}
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.Contains(line, "200") {
		t.Errorf("%q %v", line, err)
	}
	close(in.gate)
}
