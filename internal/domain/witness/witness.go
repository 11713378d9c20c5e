// Package witness is a server, apart from opdeck's state, that co-signs the checkpoints
// of its audit trail (c2sp.org/tlog-witness). It signs only what continues what it
// saw before, so it detects a trail that was cut, forked or restored from a backup
// together with everything beside it.
package witness

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
	"golang.org/x/mod/sumdb/tlog"

	"opdeck/internal/domain/audit"
	"opdeck/internal/host/listen"
	"opdeck/internal/host/wholefile"
)

// Options say what a witness works with.
type Options struct {
	Dir  string   // its key and what it saw; made when it is missing
	Name string   // in its signatures; no spaces, no +
	Logs []string // keys of the logs, as opdeck audit key prints them
	Now  func() time.Time
}

// Witness co-signs the checkpoints of some logs.
type Witness struct {
	dir  string
	name string
	key  *audit.Key
	logs map[string][]ed25519.PublicKey // by the chain they are for
	now  func() time.Time
	lock *lockedfile.Mutex
	busy chan struct{} // a token for each request that is worked on
}

// Bounds of the service.
const (
	maxBody  = 32 << 10 // bytes of a request
	maxProof = 63       // hashes
	maxBusy  = 16       // requests that are worked on at once
	maxConns = 128      // connections
)

// Open reads the key in opt.Dir or makes one.
func Open(opt Options) (*Witness, error) {
	if err := os.MkdirAll(opt.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("witness: %w", err)
	}
	key, _, err := audit.OpenKey(filepath.Join(opt.Dir, "witness.key"))
	if err != nil {
		return nil, err
	}
	if _, err := key.CosignerKey(opt.Name); err != nil {
		return nil, err
	}
	w := &Witness{dir: opt.Dir, name: opt.Name, key: key, logs: map[string][]ed25519.PublicKey{}, now: opt.Now,
		lock: lockedfile.MutexAt(filepath.Join(opt.Dir, "lock")), busy: make(chan struct{}, maxBusy)}
	if w.now == nil {
		w.now = time.Now
	}
	for _, s := range opt.Logs {
		pub, chain, err := audit.ReadVerifierKey(s)
		if err != nil {
			return nil, err
		}
		if filepath.Base(chain) != chain {
			return nil, errors.New("witness: the name of a log is not a path")
		}
		w.logs[chain] = append(w.logs[chain], pub)
	}
	if len(w.logs) == 0 {
		return nil, errors.New("witness: no log is named")
	}
	return w, nil
}

// Key is the public key that the config of opdeck names.
func (w *Witness) Key() string {
	s, err := w.key.CosignerKey(w.name)
	if err != nil {
		return "" // Open has tried
	}
	return s
}

// Serve answers at ln until ctx ends.
func (w *Witness) Serve(ctx context.Context, ln net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /add-checkpoint", w.addCheckpoint)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 20 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10}
	return listen.Serve(ctx, "witness", srv, &bounded{Listener: ln, free: make(chan struct{}, maxConns)}, 5*time.Second)
}

// refusal is an answer that is not a signature.
type refusal struct {
	status int
	size   int64 // for 409: how many records the witness has seen
	text   string
}

func (r *refusal) Error() string { return r.text }

func (w *Witness) addCheckpoint(out http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(out, req.Body, maxBody))
	if err != nil {
		http.Error(out, "the request is too large or too slow", http.StatusBadRequest)
		return
	}
	select {
	case w.busy <- struct{}{}:
		defer func() { <-w.busy }()
	default:
		http.Error(out, "too much at once, try again", http.StatusServiceUnavailable)
		return
	}
	line, err := w.add(string(body))
	var no *refusal
	switch {
	case err == nil:
		out.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(out, line)
	case errors.As(err, &no) && no.status == http.StatusConflict:
		out.Header().Set("Content-Type", "text/x.tlog.size")
		out.WriteHeader(http.StatusConflict)
		_, _ = fmt.Fprintf(out, "%d\n", no.size)
	case errors.As(err, &no):
		http.Error(out, no.text, no.status)
	default:
		http.Error(out, "the witness cannot keep what it sees", http.StatusInternalServerError)
	}
}

// request is what is submitted.
type request struct {
	old   int64
	proof tlog.TreeProof
	point audit.Signed
}

// parse reads a request to the letter.
func parse(body string) (request, error) {
	bad := &refusal{status: http.StatusBadRequest, text: "this is not a request to add a checkpoint"}
	head, text, ok := strings.Cut(body, "\n\n")
	lines := strings.Split(head, "\n")
	size, found := strings.CutPrefix(lines[0], "old ")
	old, err := strconv.ParseInt(size, 10, 64)
	if !ok || !found || err != nil || old < 0 || strconv.FormatInt(old, 10) != size || len(lines)-1 > maxProof {
		return request{}, bad
	}
	r := request{old: old}
	for _, line := range lines[1:] {
		raw, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(raw) != tlog.HashSize {
			return request{}, bad
		}
		r.proof = append(r.proof, tlog.Hash(raw))
	}
	if r.point, err = audit.ParseCheckpoint(text); err != nil {
		return request{}, bad
	}
	return r, nil
}

// add judges a request and returns the signature's line. What the witness has
// seen is durable before it returns.
func (w *Witness) add(body string) (line string, err error) {
	r, err := parse(body)
	if err != nil {
		return "", err
	}
	p := r.point
	keys := w.logs[p.Chain]
	switch {
	case len(keys) == 0:
		return "", &refusal{status: http.StatusNotFound, text: "this log is not known here"}
	case !p.By(keys...):
		return "", &refusal{status: http.StatusForbidden, text: "no key of this log signed the checkpoint"}
	case r.old > p.N:
		return "", &refusal{status: http.StatusBadRequest, text: "the old size is above the new one"}
	}
	unlock, err := w.lock.Lock()
	if err != nil {
		return "", fmt.Errorf("witness: %w", err)
	}
	defer unlock()
	seen, err := w.seen(p.Chain)
	if err != nil {
		return "", err
	}
	switch {
	case seen.N != r.old, seen.N == p.N && seen.Root != p.Root:
		return "", &refusal{status: http.StatusConflict, size: seen.N, text: "the witness has seen something else"}
	case (r.old == 0 || r.old == p.N) && len(r.proof) > 0:
		return "", &refusal{status: http.StatusUnprocessableEntity, text: "there is nothing to prove"}
	case r.old > 0 && r.old < p.N && tlog.CheckTree(r.proof, p.N, p.Root, seen.N, seen.Root) != nil:
		return "", &refusal{status: http.StatusUnprocessableEntity, text: "the checkpoint does not continue what the witness has seen"}
	}
	if line = w.key.Cosign(w.name, p, w.now()); p.N > seen.N {
		err = w.keep(p)
	}
	return line, err
}

func (w *Witness) file(chain string) string { return filepath.Join(w.dir, chain+".checkpoint") }

// seen is the newest checkpoint of a log that was signed here; none is the zero
// Signed.
func (w *Witness) seen(chain string) (audit.Signed, error) {
	b, err := os.ReadFile(w.file(chain))
	if errors.Is(err, fs.ErrNotExist) {
		return audit.Signed{}, nil
	}
	if err != nil {
		return audit.Signed{}, fmt.Errorf("witness: %w", err)
	}
	s, err := audit.ParseCheckpoint(string(b))
	if err == nil && s.Chain != chain {
		err = errors.New("witness: a file holds the checkpoint of another log")
	}
	return s, err
}

// keep stores the newest checkpoint of a log, whole and durable or not at all.
func (w *Witness) keep(s audit.Signed) error {
	if err := wholefile.Replace(w.file(s.Chain), []byte(s.Note)); err != nil {
		return fmt.Errorf("witness: %w", err)
	}
	return nil
}

// bounded is a listener with at most that many connections; more wait.
type bounded struct {
	net.Listener
	free chan struct{}
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	b.free <- struct{}{}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.free
		return nil, err
	}
	return &boundedConn{Conn: c, free: b.free}, nil
}

type boundedConn struct {
	net.Conn
	free chan struct{}
	once sync.Once
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.free })
	return err
}

// TLS serves https at ln with the certificate and key in these PEM files.
func TLS(ln net.Listener, cert, key string) (net.Listener, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("witness: %w", err), ln.Close())
	}
	return tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}), nil
}
