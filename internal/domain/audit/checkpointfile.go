package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// checkpointFiles are the files that hold checkpoints.
type checkpointFiles struct {
	*core
	mu         sync.Mutex
	chain      string // guarded by mu: name of the log, once known
	parsedLast Signed // guarded by mu: the last parsed line of a checkpoint file
}

// CheckpointFile is the path of this Log's own checkpoint file, "" for none. In a folder each log and each key has
// its own.
func (c *checkpointFiles) CheckpointFile(ctx context.Context) (string, error) {
	if !c.signs() {
		return "", nil
	}
	folder, err := c.checkpointFolder()
	if err != nil || folder == "" {
		return c.opt.Checkpoints, err
	}
	chain, err := c.Chain(ctx)
	if err != nil || chain == "" {
		return "", err
	}
	return filepath.Join(folder, "audit-"+chain+"-"+c.fingerprint()+".jsonl"), nil
}

// Chain is the name of the log, "" before its first record. It does not change during the life of a Log.
func (c *checkpointFiles) Chain(ctx context.Context) (string, error) {
	c.mu.Lock()
	chain := c.chain
	c.mu.Unlock()
	if chain != "" {
		return chain, nil
	}
	head, err := c.opt.Store.Head(ctx)
	if err != nil || head.Chain == "" {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chain == "" {
		c.chain = head.Chain
	}
	return c.chain, nil
}

// checkpointFolder is Options.Checkpoints if that is a folder; it is created if the name ends in a separator.
func (c *checkpointFiles) checkpointFolder() (string, error) {
	place := c.opt.Checkpoints
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

// otherLogs lists the files of checkpoints that this key signed for other logs: the store may have been replaced.
func (c *checkpointFiles) otherLogs(own string) ([]string, error) {
	folder, err := c.checkpointFolder()
	if err != nil || folder == "" {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(folder, "audit-*-"+c.fingerprint()+".jsonl"))
	if err != nil {
		return nil, fmt.Errorf("audit: checkpoints: %w", err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == own }), nil
}

// openCheckpointFile opens a checkpoint file; nil without an error if there is none.
func openCheckpointFile(name string) (*os.File, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("audit: checkpoints: %w", err)
	}
	return f, nil
}

// readCheckpointFile reads a checkpoint file; a missing one is empty.
func readCheckpointFile(name string) ([]Signed, error) {
	f, err := openCheckpointFile(name)
	if f == nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	list, _, err := ReadCheckpoints(f)
	return list, err
}

// checkpointNow signs the end of the trail unless that is done, and returns the checkpoint.
func (s *Signer) checkpointNow(ctx context.Context) (Signed, error) {
	if err := s.Checkpoint(ctx); err != nil {
		return Signed{}, err
	}
	return s.lastCheckpoint(ctx)
}

// lastCheckpoint returns the newest checkpoint in the checkpoint file; the zero Signed if there is none. It ignores a
// line that another process is writing.
func (c *checkpointFiles) lastCheckpoint(ctx context.Context) (Signed, error) {
	name, err := c.CheckpointFile(ctx)
	if err != nil || name == "" {
		return Signed{}, err
	}
	f, err := openCheckpointFile(name)
	if f == nil {
		return Signed{}, err
	}
	defer func() { _ = f.Close() }()
	line, _, _, err := tailOf(f)
	if err != nil || len(line) == 0 {
		return Signed{}, err
	}
	return c.parsed(line)
}

// parsed is parseSigned with a cache of one line, since the last line rarely changes.
func (c *checkpointFiles) parsed(line []byte) (Signed, error) {
	c.mu.Lock()
	last := c.parsedLast
	c.mu.Unlock()
	if bytes.Equal(line, last.Line) {
		return last, nil
	}
	s, err := parseSigned(line)
	if err != nil {
		return Signed{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parsedLast = s
	return s, nil
}

// tailSize is how much is read of the end of a checkpoint file, in bytes. A line is shorter.
const tailSize = 8 << 10

// tailOf returns the last complete line of a checkpoint file, without its end, the offset after it, and the size of
// the file.
func tailOf(f interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}) (last []byte, end, size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return last, 0, 0, fmt.Errorf("audit: checkpoints: %w", err)
	}
	from := max(0, info.Size()-tailSize)
	b := make([]byte, info.Size()-from)
	if _, err := f.ReadAt(b, from); err != nil && err != io.EOF {
		return last, 0, 0, fmt.Errorf("audit: checkpoints: %w", err)
	}
	whole := b[:bytes.LastIndexByte(b, '\n')+1]
	end = from + int64(len(whole))
	whole = bytes.TrimSuffix(whole, []byte("\n"))
	return whole[bytes.LastIndexByte(whole, '\n')+1:], end, info.Size(), nil
}

// addPoint appends a checkpoint to a checkpoint file durably, if want agrees, given the last one, and returns the one
// that is the last now. It first cuts off a torn line.
func (c *checkpointFiles) addPoint(name string, s Signed, want func(last Signed) bool) (last Signed, err error) {
	fail := func(err error) (Signed, error) {
		return Signed{}, fmt.Errorf("audit: the checkpoint could not be written: %w", err)
	}
	file, err := lockedfile.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = file.Close() }()
	lastLine, end, size, err := tailOf(file)
	if err != nil {
		return Signed{}, err
	}
	if len(lastLine) > 0 {
		if last, err = c.parsed(lastLine); err != nil {
			return Signed{}, err
		}
	}
	if !want(last) {
		return last, nil
	}
	if end < size {
		if err := file.Truncate(end); err != nil {
			return fail(err)
		}
	}
	if _, err := file.WriteAt(append(bytes.Clone(s.Line), '\n'), end); err != nil {
		return fail(err)
	}
	if err := file.Sync(); err != nil {
		return fail(err)
	}
	return s, nil
}
