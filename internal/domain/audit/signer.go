package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"opdeck/internal/system/wholefile"
)

// TamperedError: the trail contradicts a signed checkpoint.
type TamperedError struct {
	N      int64 // the checkpoint
	Reason string
	Older  bool // the trail ends before the checkpoint: its end was cut, or a backup was restored
}

// Error is a sentence for people.
func (e *TamperedError) Error() string {
	if e.Older {
		return fmt.Sprintf("the audit trail is older than its checkpoint for %d records: %s. If a backup was restored on "+
			"purpose: opdeck restore --reason WHY", e.N, e.Reason)
	}
	return fmt.Sprintf("the audit trail was tampered with: %s (checkpoint %d); run opdeck audit verify and keep a "+
		"copy of the store", e.Reason, e.N)
}

// Signer signs checkpoints of the trail, including records of other processes.
type Signer struct {
	*core
	*tree
	*checkpointFiles
	notify func()                                          // signals Run
	record func(ctx context.Context, event, detail string) // records an event of this package

	publishing sync.Mutex // serialises work in the checkpoint file

	mu        sync.Mutex
	failure   error     // guarded by mu: why the last checkpoint failed; nil if it did not
	recovered bool      // guarded by mu: recoverCheckpoint has run
	start     time.Time // guarded by mu: of the newest checkpoint in the file, until sinceStart
	unsigned  int64     // guarded by mu: our records since our last checkpoint
	known     int64     // guarded by mu: records of the newest checkpoint seen in the checkpoint file; -1: not read
	newest    Signed    // guarded by mu: our newest, to be published
	published int64     // guarded by mu: records of our newest published one
	trusted   Head      // guarded by mu: an end of the trail known to continue the newest checkpoint
	trustedBy []byte    // guarded by mu: the line of that checkpoint
}

// onStored counts a stored record of ours.
func (sg *Signer) onStored() {
	sg.mu.Lock()
	sg.unsigned++
	due := sg.unsigned >= sg.opt.Every || sg.unsigned == 1 // the first one starts Run's timer
	sg.mu.Unlock()
	if due {
		sg.notify()
	}
}

// full reports whether Options.Every of our records have no checkpoint.
func (sg *Signer) full() bool {
	sg.mu.Lock()
	defer sg.mu.Unlock()
	return sg.unsigned >= sg.opt.Every
}

// used reports whether this process wrote or signed anything.
func (sg *Signer) used() bool {
	sg.mu.Lock()
	defer sg.mu.Unlock()
	return sg.unsigned > 0 || sg.published > 0
}

// lastFailure is why the last checkpoint failed; nil if it did not.
func (sg *Signer) lastFailure() error {
	sg.mu.Lock()
	defer sg.mu.Unlock()
	return sg.failure
}

// Checkpoint signs the end of the trail, even if other processes wrote it, and writes the checkpoint to the file
// unless it is there. It first compares the trail with the last checkpoint; if they contradict, it signs nothing and
// returns a *TamperedError.
func (sg *Signer) Checkpoint(ctx context.Context) error {
	if !sg.signs() {
		return nil
	}
	sg.recoverCheckpoint(ctx)
	return sg.checkpointResult(ctx, sg.signHead(ctx))
}

func (sg *Signer) signHead(ctx context.Context) error {
	sg.mu.Lock()
	counted := sg.unsigned // covered by the head below
	sg.mu.Unlock()
	last, err := sg.lastCheckpoint(ctx) // read before the head, so it cannot be ahead of it
	if err != nil {
		return err
	}
	head, err := sg.edge(ctx)
	if err != nil {
		return err
	}
	if err := sg.compareWithCheckpoint(ctx, last, head); err != nil {
		return err
	}
	sg.mu.Lock()
	sg.unsigned -= min(counted, sg.unsigned)
	sg.mu.Unlock()
	sg.seenCheckpoint(last.N)
	if last.N == head.N {
		return nil
	}
	s, err := sg.signAt(head, sg.opt.Now())
	if err != nil {
		return err
	}
	if err := sg.opt.Store.PutCheckpoint(ctx, *sg.toStore(s)); err != nil {
		return err
	}
	return sg.publish(ctx, s)
}

// signAt signs the trail up to head, whose edge is known.
func (sg *Signer) signAt(head Head, at time.Time) (Signed, error) {
	return sg.opt.Key.signNote(Checkpoint{Chain: head.Chain, N: head.N, Head: head.Hash, Root: head.Edge.root(),
		At: at.UTC().Truncate(time.Millisecond)})
}

func (sg *Signer) toStore(s Signed) *StoredCheckpoint {
	return &StoredCheckpoint{Key: sg.fingerprint(), N: s.N, Note: s.Note}
}

// checkpointResult stores the result of a checkpoint and returns err. It passes a new error to Alarm and records
// signs of tampering.
func (sg *Signer) checkpointResult(ctx context.Context, err error) error {
	sg.mu.Lock()
	news := err != nil && sg.failure == nil
	sg.failure = err
	if err != nil {
		sg.unsigned = max(sg.unsigned, 1) // try again after an interval
	}
	sg.mu.Unlock()
	if !news {
		return err
	}
	var bad *TamperedError
	if errors.As(err, &bad) {
		sg.record(ctx, EventTamper, bad.Error())
	}
	sg.alarm(err)
	return err
}

// Uncovered is the number of records without a checkpoint by this key or one in Options.Trusted; 0 if nothing is
// signed here.
func (sg *Signer) Uncovered(ctx context.Context) (int64, error) {
	if !sg.signs() {
		return 0, nil
	}
	last, err := sg.lastCheckpoint(ctx)
	if err != nil {
		return 0, err
	}
	points, err := sg.opt.Store.Checkpoints(ctx)
	if err != nil {
		return 0, err
	}
	covered := last.N
	for _, p := range points {
		for _, t := range sg.opt.Trusted {
			if s, err := ParseCheckpoint(p.Note); err == nil && s.By(t.Key) {
				covered = max(covered, s.N)
			}
		}
	}
	head, err := sg.opt.Store.Head(ctx)
	return max(0, head.N-covered), err
}

// publish writes a checkpoint to the checkpoint file durably. Of concurrent ones only the newest is written, since it
// covers all.
func (sg *Signer) publish(ctx context.Context, s Signed) error {
	sg.mu.Lock()
	if s.N > sg.newest.N {
		sg.newest = s
	}
	sg.mu.Unlock()
	sg.publishing.Lock()
	defer sg.publishing.Unlock()
	sg.mu.Lock()
	covered, newest := sg.published >= s.N, sg.newest
	sg.mu.Unlock()
	if covered {
		return nil
	}
	name, err := sg.CheckpointFile(ctx)
	if err != nil {
		return err
	}
	last, err := sg.addPoint(name, newest, func(last Signed) bool { return last.N < newest.N })
	if err != nil {
		return err
	}
	sg.mu.Lock()
	sg.published = newest.N
	sg.mu.Unlock()
	sg.seenCheckpoint(last.N) // that of another process if it covers more: ours is not in the file then
	sg.notify()
	return nil
}

// checkBeforeSigning compares the trail with the newest checkpoint in the file, unless it is known that only this
// process has written since the last comparison.
func (sg *Signer) checkBeforeSigning(ctx context.Context) error {
	last, err := sg.lastCheckpoint(ctx)
	if err != nil {
		return err
	}
	if sg.seenCheckpoint(last.N); last.N == 0 {
		return nil
	}
	head, err := sg.opt.Store.Head(ctx)
	if err != nil {
		return err
	}
	sg.mu.Lock()
	trusted := head.N > 0 && sg.trusted.N == head.N && sg.trusted.Hash == head.Hash && sg.trusted.Chain == head.Chain &&
		last.N <= head.N &&
		bytes.Equal(last.Line, sg.trustedBy)
	sg.mu.Unlock()
	if trusted { // only this process has written since
		return nil
	}
	if err := sg.compareWithCheckpoint(ctx, last, head); err != nil {
		return err
	}
	sg.mu.Lock()
	defer sg.mu.Unlock()
	sg.trusted, sg.trustedBy = head, last.Line
	return nil
}

// seenCheckpoint records that the checkpoint file has a checkpoint of n records, and returns the newest seen before;
// -1 if it was not read.
func (sg *Signer) seenCheckpoint(n int64) int64 {
	sg.mu.Lock()
	defer sg.mu.Unlock()
	sg.known = max(sg.known, n)
	return sg.known
}

// onContinued records that this process appended the records from from to to, and their checkpoint, if any.
func (sg *Signer) onContinued(from, to Head, point *Signed) {
	sg.mu.Lock()
	defer sg.mu.Unlock()
	if sg.trusted.N != from.N || sg.trusted.Hash != from.Hash || from.N == 0 {
		return
	}
	if sg.trusted = to; point != nil {
		sg.trustedBy = point.Line
	}
}

// compareWithCheckpoint compares the trail with its last checkpoint.
func (sg *Signer) compareWithCheckpoint(ctx context.Context, last Signed, head Head) error {
	switch {
	case last.N == 0:
		return nil
	case !last.By(sg.opt.Key.Public()):
		return &TamperedError{N: last.N, Reason: "the last checkpoint was not signed by this key"}
	case last.Chain != head.Chain:
		return &TamperedError{N: last.N, Reason: "the checkpoints belong to another trail"}
	case last.N > head.N:
		return &TamperedError{N: last.N, Reason: fmt.Sprintf("it has %d records", head.N), Older: true}
	}
	rows, err := sg.opt.Store.Rows(ctx, last.N, 1)
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].Seq != last.N {
		if _, archived, err := sg.segmentFrom(ctx, last.N); err != nil || archived {
			return err // the verification reads the archive
		}
	}
	if len(rows) == 0 || rows[0].Seq != last.N || Hash(rows[0].Bytes) != last.Head {
		return &TamperedError{N: last.N, Reason: fmt.Sprintf("record %d is not the one that was signed", last.N),
			Older: len(rows) > 0 && entry(rows[0]).Signed >= last.N} // its process knew the checkpoint: it came after a restore
	}
	root, err := sg.rootAt(ctx, last.N)
	if errors.Is(err, errBehind) { // recomputed from the records before anything is signed
		return nil
	}
	if err == nil && root != last.Root {
		err = &TamperedError{N: last.N, Reason: fmt.Sprintf(
			"the stored tree of the first %d records is not the one that was signed",
			last.N)}
	}
	return err
}

// sinceStart is when the newest checkpoint of this host was signed before this process began, at the first call; else
// the zero time.
func (sg *Signer) sinceStart() time.Time {
	sg.mu.Lock()
	defer sg.mu.Unlock()
	at := sg.start
	sg.start = time.Time{}
	return at
}

// publishTime bounds the time between storing a checkpoint and writing it to the checkpoint file.
const publishTime = 10 * time.Second

// recoverCheckpoint publishes, once, a checkpoint that a process stored but did not publish before it ended, and
// records that. It never stops the trail: Verify reports problems.
func (sg *Signer) recoverCheckpoint(ctx context.Context) {
	sg.mu.Lock()
	done := sg.recovered
	sg.recovered = true
	sg.mu.Unlock()
	if done {
		return
	}
	points, err := sg.opt.Store.Checkpoints(ctx)
	if err != nil {
		return
	}
	last, err := sg.lastCheckpoint(ctx)
	if err != nil {
		return
	}
	sg.mu.Lock()
	sg.start = last.At
	sg.mu.Unlock()
	if sg.afterRestore(ctx, last) != nil {
		return
	}
	for _, p := range points {
		s, err := ParseCheckpoint(p.Note)
		if p.Key != sg.fingerprint() || err != nil || s.N <= last.N || !s.By(sg.opt.Key.Public()) {
			continue
		}
		head, err := sg.opt.Store.Head(ctx)
		if err != nil || sg.compareWithCheckpoint(ctx, s, head) != nil || sg.compareWithCheckpoint(ctx, last, head) != nil {
			return
		}
		if sg.ownerEnded(ctx, s) {
			sg.record(ctx, EventUncovered, fmt.Sprintf("the checkpoint for %d records of %s was missing from the checkpoint "+
				"file, which ended at %d: "+
				"the process ended before it wrote it, or it was removed; it was written now", s.N, s.At.Format(timeForm), last.N))
		}
		_ = sg.publish(ctx, s)
	}
}

// ownerEnded reports whether the process that stored s will no longer publish it.
func (sg *Signer) ownerEnded(ctx context.Context, s Signed) bool {
	rows, err := sg.opt.Store.Rows(ctx, s.N, 1)
	if err != nil || len(rows) == 0 {
		return false
	}
	e := entry(rows[0])
	if e.Boot == sg.boot {
		return false
	}
	if age := sg.opt.Now().Sub(s.At); age < 0 || age > publishTime {
		return true
	}
	if e.Ref == "" {
		return false
	}
	intent, err := sg.opt.Store.Get(ctx, e.Ref)
	return err == nil && sg.processGone(entry(intent))
}

// maxKeyFile bounds a key file, in bytes.
const maxKeyFile = 4096

// Key signs checkpoints. The zero Key cannot be used.
type Key struct{ private ed25519.PrivateKey }

// NewKey makes a Key from a seed of 32 bytes.
func NewKey(seed []byte) (*Key, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("audit: the seed of a key has %d bytes, not %d", len(seed), ed25519.SeedSize)
	}
	return &Key{ed25519.NewKeyFromSeed(seed)}, nil
}

// CreateKey creates the key file with mode 0600 and returns its key; that of a file that another process has created
// meanwhile. made: this call created it, so show the public key.
func CreateKey(file string) (k *Key, made bool, err error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := rand.Read(seed); err != nil {
		return nil, false, fmt.Errorf("audit: %w", err)
	}
	if k, err = NewKey(seed); err != nil {
		return nil, false, err
	}
	if made, err = k.write(file); err == nil && !made {
		k, err = ReadKey(file)
	}
	return k, made, err
}

// ReadKey reads the key in file (PEM, PKCS 8); fs.ErrNotExist when there is none. A key that is missing is never
// replaced here: the checkpoints of a trail need the key that signed them.
func ReadKey(file string) (*Key, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return nil, fmt.Errorf("audit: key: %w", err)
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("audit: the key %s is not a plain file", file)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("audit: the key %s can be read by others (mode %04o): run chmod 600 on it", file,
			info.Mode().Perm())
	case info.Size() > maxKeyFile:
		return nil, fmt.Errorf("audit: %s is too large for a key", file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("audit: key: %w", err)
	}
	block, _ := pem.Decode(b)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fmt.Errorf("audit: %s contains no private key in PEM form", file)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("audit: the key %s cannot be read", file) // the cause may contain parts of the key
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("audit: the key %s is not an Ed25519 key", file)
	}
	return &Key{private}, nil
}

// write writes the complete key, unless the file exists.
func (k *Key) write(file string) (made bool, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return false, fmt.Errorf("audit: %w", err)
	}
	switch err := wholefile.Create(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("audit: key: %w", err)
	}
	return true, nil
}

// Public is the public key.
func (k *Key) Public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

// PublicPEM is the public key as a PEM file.
func (k *Key) PublicPEM() string {
	der, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		panic("audit: an Ed25519 key cannot be encoded: " + err.Error()) // cannot happen
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// ReadPublic reads the public keys in a file, one or more: in PEM form, and as lines of name+hash+key. A key in both
// forms counts once.
func ReadPublic(r io.Reader) ([]ed25519.PublicKey, error) {
	rest, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("audit: public key: %w", err)
	}
	var keys []ed25519.PublicKey
	for line := range strings.Lines(string(rest)) {
		if key, _, err := ReadVerifierKey(strings.TrimSpace(line)); err == nil {
			keys = append(keys, key)
		}
	}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("audit: public key: %w", err)
		}
		key, ok := parsed.(ed25519.PublicKey)
		if !ok {
			return nil, errors.New("audit: the public key is not an Ed25519 key")
		}
		if !slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return k.Equal(key) }) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("audit: no public key, in PEM form or as one line")
	}
	return keys, nil
}

// Trusted is the key of another host that signs for the same store.
type Trusted struct {
	Chain string // the log that it signs
	Key   ed25519.PublicKey
}

// Fingerprint is a short name for a public key.
func Fingerprint(pub ed25519.PublicKey) string {
	s := sha256.Sum256(pub)
	return hex.EncodeToString(s[:8])
}
