package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"opdeck/api"
)

// TamperedError says that the trail is not what a signed checkpoint says.
type TamperedError struct {
	N      int64 // the checkpoint
	Reason string
}

// Error is a sentence for people.
func (e *TamperedError) Error() string {
	return fmt.Sprintf("the audit trail was tampered with: %s (checkpoint %d); run the verification and keep a copy of the store", e.Reason, e.N)
}

// Checkpoint signs the end of the chain and writes it to the second place,
// unless it stands there already. Before that it holds the trail against the
// checkpoint before; a *TamperedError says that they differ, and then nothing is
// signed.
func (l *Log) Checkpoint(ctx context.Context) error { return l.checkpoint(ctx, true) }

// checkpoint does the work of Checkpoint; without always only when the last one
// is old enough.
func (l *Log) checkpoint(ctx context.Context, always bool) error {
	if l.opt.Key == nil || l.opt.Checkpoints == "" && l.opt.Hook == nil {
		return nil
	}
	err := l.witness(ctx, always)
	l.mu.Lock()
	news := err != nil && l.health.Checkpoint == nil
	l.health.Checkpoint = err
	if err != nil {
		l.since, l.first = 1, l.opt.Now() // try again an interval later
	}
	l.mu.Unlock()
	if !news {
		return err
	}
	var bad *TamperedError
	if errors.As(err, &bad) {
		_ = l.Note(ctx, api.Actor{Name: "opdeck", Via: "service"}, api.Event{Name: EventTamper, Object: "audit", Detail: bad.Error()})
	}
	l.alarm(err)
	return err
}

func (l *Log) witness(ctx context.Context, always bool) error {
	var file *lockedfile.File
	if l.opt.Checkpoints != "" {
		name, err := l.CheckpointFile(ctx)
		if err != nil || name == "" {
			return err
		}
		if file, err = lockedfile.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			return fmt.Errorf("audit: checkpoints: %w", err)
		}
		defer func() { _ = file.Close() }()
	}
	last, err := lastSigned(file)
	if err != nil {
		return err
	}
	l.mu.Lock()
	counted := l.since // these the head below holds
	l.mu.Unlock()
	head, err := l.opt.Store.Head(ctx) // after the lock: the file cannot be ahead of it
	if err != nil || head.N == 0 {
		return err
	}
	if err := l.consistent(ctx, last, head); err != nil {
		return err
	}
	now := l.opt.Now().UTC().Truncate(time.Millisecond)
	l.mu.Lock()
	l.since -= counted
	l.mu.Unlock()
	if last.N == head.N || !always && head.N-last.N < l.opt.Every && last.N > 0 && now.Sub(last.At) < l.opt.Interval {
		return nil
	}
	s, err := l.opt.Key.sign(Checkpoint{V: Version, Chain: head.Chain, N: head.N, Head: head.Hash, At: now, Boot: l.boot})
	if err != nil {
		return err
	}
	return l.publish(file, append(s.Line, '\n'))
}

// publish writes the line to the file and to the hook.
func (l *Log) publish(file *lockedfile.File, line []byte) error {
	var errs []error
	if file != nil {
		_, err := file.Write(line)
		errs = append(errs, err, file.Sync())
	}
	if l.opt.Hook != nil {
		_, err := l.opt.Hook.Write(line)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("audit: the checkpoint could not be written: %w", err)
	}
	return nil
}

// CheckpointFile is the file of the checkpoints that this Log signs, "" when
// there is none. In a folder each log and each key has its own.
func (l *Log) CheckpointFile(ctx context.Context) (string, error) {
	folder, err := l.checkpointFolder()
	if err != nil || folder == "" {
		return l.opt.Checkpoints, err
	}
	head, err := l.opt.Store.Head(ctx)
	if err != nil || head.Chain == "" {
		return "", err
	}
	return filepath.Join(folder, "audit-"+head.Chain+l.checkpointSuffix()), nil
}

func (l *Log) checkpointSuffix() string {
	if l.opt.Key == nil {
		return ".jsonl"
	}
	return "-" + Fingerprint(l.opt.Key.Public()) + ".jsonl"
}

// checkpointFolder is Options.Checkpoints if that is a folder, which is made
// when the name ends in a separator.
func (l *Log) checkpointFolder() (string, error) {
	place := l.opt.Checkpoints
	if place == "" {
		return "", nil
	}
	if strings.HasSuffix(place, string(filepath.Separator)) || strings.HasSuffix(place, "/") {
		if err := os.MkdirAll(place, 0o700); err != nil {
			return "", fmt.Errorf("audit: checkpoints: %w", err)
		}
	}
	if info, err := os.Stat(place); err != nil || !info.IsDir() {
		return "", nil
	}
	return place, nil
}

// otherLogs warns of checkpoints that this key signed for other logs: the store
// may have been exchanged for an empty one.
func (l *Log) otherLogs(own string) ([]string, error) {
	folder, err := l.checkpointFolder()
	if err != nil || folder == "" || l.opt.Key == nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(folder, "audit-*"+l.checkpointSuffix()))
	if err != nil {
		return nil, fmt.Errorf("audit: checkpoints: %w", err)
	}
	var warnings []string
	for _, name := range names {
		if name != own {
			warnings = append(warnings, fmt.Sprintf("%s holds checkpoints of another log: if this store was not set up anew on purpose, the trail was exchanged", filepath.Base(name)))
		}
	}
	return warnings, nil
}

// lastSigned reads the last line of the file and leaves the position at its
// end. A torn line after it is cut off.
func lastSigned(file *lockedfile.File) (Signed, error) {
	if file == nil {
		return Signed{}, nil
	}
	info, err := file.Stat()
	if err != nil {
		return Signed{}, fmt.Errorf("audit: checkpoints: %w", err)
	}
	from := max(0, info.Size()-4096)
	b := make([]byte, info.Size()-from)
	if _, err := file.ReadAt(b, from); err != nil && err != io.EOF {
		return Signed{}, fmt.Errorf("audit: checkpoints: %w", err)
	}
	whole := b[:bytes.LastIndexByte(b, '\n')+1]
	end := from + int64(len(whole))
	if end < info.Size() {
		if err := file.Truncate(end); err != nil {
			return Signed{}, fmt.Errorf("audit: checkpoints: %w", err)
		}
	}
	if _, err := file.Seek(end, io.SeekStart); err != nil {
		return Signed{}, fmt.Errorf("audit: checkpoints: %w", err)
	}
	whole = bytes.TrimSuffix(whole, []byte("\n"))
	if len(whole) == 0 {
		return Signed{}, nil
	}
	return parseSigned(whole[bytes.LastIndexByte(whole, '\n')+1:])
}

// consistent holds the trail against its last checkpoint.
func (l *Log) consistent(ctx context.Context, last Signed, head Head) error {
	switch {
	case last.N == 0:
		return nil
	case !last.By(l.opt.Key.Public()):
		return &TamperedError{last.N, "the last checkpoint was not signed by this key"}
	case last.Chain != head.Chain:
		return &TamperedError{last.N, "the checkpoints belong to another log"}
	case last.N > head.N:
		return &TamperedError{last.N, fmt.Sprintf("it has %d records, and a checkpoint says %d", head.N, last.N)}
	}
	rows, err := l.opt.Store.Rows(ctx, last.N, 1)
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].Seq != last.N || Hash(rows[0].Bytes) != last.Head {
		return &TamperedError{last.N, fmt.Sprintf("record %d is not the one that was signed", last.N)}
	}
	return nil
}
