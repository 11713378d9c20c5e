//go:build unix

package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"syscall"
	"time"
)

// naive is a client as one writes it first, to compare with: a pair of its own,
// or one in a plain file under a lock. It renews a pair that is over, and after
// a 401 logs in and repeats, twice at most.
type naive struct {
	base, password string
	file           string // "": a pair of its own
	pair           naivePair
}

type naivePair struct {
	Access, Refresh string
	Until, Useful   time.Time
}

// call makes one call, with the locking that each call pays for.
func (n *naive) call() error {
	for range 3 {
		if err := n.load(); err != nil {
			return err
		}
		if !time.Now().Before(n.pair.Until) {
			if err := n.renew(n.pair.Access, false); err != nil {
				return err
			}
		}
		req, err := http.NewRequest("GET", n.base+"/v2/billing/operation?size=1", nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+n.pair.Access)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			return nil
		}
		if err := n.renew(n.pair.Access, true); err != nil {
			return err
		}
	}
	return fmt.Errorf("refused three times")
}

// locked runs fn under the file's lock.
func (n *naive) locked(how int, fn func(f *os.File) error) error {
	if n.file == "" {
		return fn(nil)
	}
	f, err := os.OpenFile(n.file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		return err
	}
	return fn(f)
}

func (n *naive) load() error { return n.locked(syscall.LOCK_SH, n.read) }

func (n *naive) read(f *os.File) error {
	if f == nil {
		return nil
	}
	text, err := io.ReadAll(f)
	if err != nil || len(text) == 0 {
		return err
	}
	return json.Unmarshal(text, &n.pair)
}

// renew replaces the pair unless someone has done so.
func (n *naive) renew(old string, refused bool) error {
	return n.locked(syscall.LOCK_EX, func(f *os.File) error {
		if err := n.read(f); err != nil {
			return err
		}
		if n.pair.Access != old && time.Now().Before(n.pair.Until) {
			return nil
		}
		ok := false
		if !refused && time.Now().Before(n.pair.Useful) {
			ok = n.ask(http.Get(n.base + "/v2/auth/refresh/" + n.pair.Refresh))
		}
		if !ok {
			body, err := json.Marshal(map[string]string{"login": account, "password": n.password})
			if err != nil {
				return err
			}
			if !n.ask(http.Post(n.base+"/v2/auth/login", "application/json", bytes.NewReader(body))) {
				return fmt.Errorf("the login failed")
			}
		}
		if f == nil {
			return nil
		}
		text, err := json.Marshal(n.pair)
		if err == nil {
			err = f.Truncate(0)
		}
		if err == nil {
			_, err = f.WriteAt(text, 0)
		}
		return err
	})
}

func (n *naive) ask(resp *http.Response, err error) bool {
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	var a struct {
		AccessToken, RefreshToken string
		AccessTTL, RefreshTTL     int
	}
	if resp.StatusCode != http.StatusOK || json.NewDecoder(resp.Body).Decode(&a) != nil {
		return false
	}
	now := time.Now()
	n.pair = naivePair{Access: a.AccessToken, Refresh: a.RefreshToken, Until: now.Add(time.Duration(a.AccessTTL)*time.Second - time.Second),
		Useful: now.Add(time.Duration(a.RefreshTTL) * time.Second)}
	return true
}

// naiveCalls is "calls" for the naive client.
func naiveCalls(n *naive, o order) callReport {
	rep := callReport{Errors: map[string]int{}}
	for end := time.Now().Add(o.For); time.Now().Before(end); time.Sleep(o.Gap) {
		began := time.Now()
		if err := n.call(); err != nil {
			rep.Errors[err.Error()]++
		} else {
			rep.OK++
		}
		rep.Took = append(rep.Took, time.Since(began))
	}
	return rep
}
