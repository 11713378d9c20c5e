package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Trusted is the key of another host that signs for the same store.
type Trusted struct {
	Chain string // the log it is for
	Key   ed25519.PublicKey
}

// Witness is a process elsewhere that co-signs checkpoints (c2sp.org/tlog-witness).
type Witness struct {
	URL string // add-checkpoint is appended to it
	Key *Cosigner
}

// Bounds of a visit to the witnesses, all of which are asked at once.
const (
	submitTime  = 2 * time.Second  // for all of them
	submitPause = 10 * time.Second // from one visit of a process to its next
	maxAnswer   = 4 << 10          // bytes
)

// witnessClient follows no redirects and uses no proxy.
var witnessClient = &http.Client{
	Transport:     &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute, ResponseHeaderTimeout: submitTime},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// unwitnessed reports that witnesses have not been asked about our newest
// checkpoint. It needs mu.
func (l *Log) unwitnessed() bool {
	return len(l.opt.Witnesses) > 0 && l.published > l.witnessed
}

// submit asks the witnesses to sign the newest checkpoint and keeps their signatures. A
// refusal is handled as tampering; a witness that does not answer is asked again later,
// and Verify counts what is missing.
func (l *Log) submit(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, submitTime)
	defer cancel()
	l.mu.Lock()
	l.submitted = l.opt.Now()
	l.mu.Unlock()
	err := l.cosign(ctx, false)
	var bad *TamperedError
	if errors.As(err, &bad) {
		_ = l.checkpointResult(context.WithoutCancel(ctx), err)
	}
}

// cosign asks the witnesses for signatures of the newest checkpoint: all of them, or
// with always false those that have not signed it. The error is a *TamperedError when
// one of them saw another trail.
func (l *Log) cosign(ctx context.Context, always bool) error {
	s, err := l.lastPoint(ctx)
	if err != nil || s.Note == "" {
		return err
	}
	l.mu.Lock()
	l.witnessed = max(l.witnessed, s.N)
	l.mu.Unlock()
	name, err := l.cosignedFile(ctx)
	if err != nil {
		return err
	}
	seen, err := l.seenBy(name)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var errs []error
	var lines string
	var group sync.WaitGroup
	for _, w := range l.opt.Witnesses {
		has := seen[w.Key.name] == s.N
		if has && !always {
			continue
		}
		group.Go(func() {
			line, err := l.ask(ctx, w, s, min(seen[w.Key.name], s.N))
			mu.Lock()
			defer mu.Unlock()
			if !has {
				lines += line
			}
			errs = append(errs, err)
		})
	}
	group.Wait()
	if lines != "" {
		cosigned, err := ParseCheckpoint(s.Note + lines)
		if err == nil {
			err = l.addLine(name, cosigned.Line, func(last Signed) bool { return last.N <= cosigned.N })
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// seenBy reads from the cosigned file up to where each witness has signed.
func (l *Log) seenBy(name string) (map[string]int64, error) {
	seen := map[string]int64{}
	f, err := openPoints(name)
	if f == nil {
		return seen, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("audit: checkpoints: %w", err)
	}
	// A witness that is not among the last lines tells by itself where it stands.
	if _, err := f.Seek(max(0, info.Size()-64<<10), io.SeekStart); err != nil {
		return nil, fmt.Errorf("audit: checkpoints: %w", err)
	}
	in := newLines(f)
	for {
		line, err := in.next()
		if err != nil {
			return seen, nil // the end, or a torn line
		}
		s, err := parseSigned(line)
		if err != nil {
			continue // the first one may be cut
		}
		for _, c := range s.Cosignatures(l.cosigners()) {
			seen[c.Name] = max(seen[c.Name], s.N)
		}
	}
}

func (l *Log) cosigners() []*Cosigner {
	var out []*Cosigner
	for _, w := range l.opt.Witnesses {
		out = append(out, w.Key)
	}
	return out
}

// ask submits s to one witness, which is thought to know the first old records,
// and returns its signature line.
func (l *Log) ask(ctx context.Context, w Witness, s Signed, old int64) (line string, err error) {
	fail := func(format string, args ...any) (string, error) {
		return "", fmt.Errorf("audit: witness %s "+format, append([]any{w.Key.name}, args...)...)
	}
	tampered := func(format string, args ...any) (string, error) {
		return "", &TamperedError{s.N, fmt.Sprintf("witness %s "+format, append([]any{w.Key.name}, args...)...)}
	}
	for range 2 { // the second time from where the witness says that it stands
		status, body, err := l.post(ctx, w, s, old)
		switch {
		case err != nil:
			return fail("could not be asked: %w", err)
		case status == http.StatusOK:
			for line := range strings.Lines(body) {
				if c, err := ParseCheckpoint(s.Note + line); err == nil && len(c.Cosignatures([]*Cosigner{w.Key})) == 1 {
					return line, nil
				}
			}
			return fail("gave no signature of its key")
		case status == http.StatusUnprocessableEntity:
			return tampered("says that the trail does not continue the %d records that it saw", old)
		case status != http.StatusConflict:
			return fail("answers with status %d", status)
		}
		size, err := strconv.ParseInt(strings.TrimSuffix(body, "\n"), 10, 64)
		switch {
		case err != nil || size < 0:
			return fail("gave an answer that makes no sense")
		case size > s.N && l.reaches(ctx, size):
			return "", nil // somebody else was quicker; the next checkpoint is submitted from there
		case size > s.N:
			return tampered("has seen %d records, and there are checkpoints for %d only", size, s.N)
		case size == old:
			return tampered("has seen other records")
		}
		old = size
	}
	return fail("was quicker than we are")
}

// reaches reports whether the trail has that many records; true when that is not known.
func (l *Log) reaches(ctx context.Context, n int64) bool {
	head, err := l.opt.Store.Head(ctx)
	return err != nil || head.N >= n
}

// post sends one request to a witness.
func (l *Log) post(ctx context.Context, w Witness, s Signed, old int64) (status int, body string, err error) {
	b := fmt.Appendf(nil, "old %d\n", old)
	if old > 0 && old < s.N {
		proof, err := l.continuation(ctx, old, s.N)
		if err != nil {
			return 0, "", err
		}
		for _, h := range proof {
			b = fmt.Appendln(b, h)
		}
	}
	b = append(append(b, '\n'), s.Note...)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(w.URL, "/")+"/add-checkpoint", bytes.NewReader(b))
	if err != nil {
		return 0, "", err
	}
	res, err := witnessClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return res.StatusCode, string(answer), err
}
