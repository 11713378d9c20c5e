// Package folder completes and checks paths that a person types.
package folder

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"opdeck/api/untrusted"
)

const (
	most    = 200     // names kept of a folder
	scanned = 200_000 // names read of a folder
	chunk   = 1_000   // names per read
)

// Name is a completion of a typed path.
type Name struct {
	Path   string // the completed path; a folder ends in a slash
	Name   string // the last element as on disk: hostile text
	Folder bool
	Link   bool // a symbolic link
	Broken bool // a link to nothing
}

// Names are the completions of a typed path.
type Names struct {
	Found  []Name // sorted, folders first
	Common string // the typed path plus their common prefix
	More   bool   // there are others that were not kept or not read
}

// problem is an error whose text is a sentence for people.
type problem string

func (p problem) Error() string { return string(p) }

// Expand reads a path as it is typed, with ~ for the home folder, or as a terminal pastes a file that is dropped on it:
// in quotes, with backslashes, or as a file:// address. What exists as it stands is meant as it stands.
func Expand(path string) string {
	if _, err := os.Lstat(path); err != nil {
		path = dropped(path)
	}
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(home, path[1:])
}

// dropped is the path in a text that a terminal pastes for a file.
func dropped(text string) string {
	text = strings.TrimSpace(text)
	if n := len(text); n > 1 && (text[0] == '\'' || text[0] == '"') && text[n-1] == text[0] {
		quote := text[:1]
		text = text[1 : n-1]
		if quote == "'" {
			return strings.ReplaceAll(text, `'\''`, "'")
		}
	}
	if u, err := url.Parse(text); err == nil && u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") {
		return u.Path
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// Complete lists the entries of a typed path's folder that begin with its last element. It omits hidden names unless
// that begins with a dot, names that cannot be typed, and anything but files and folders. It reads a bounded number
// of names and stops when ctx ends. Errors are sentences.
func Complete(ctx context.Context, typed string) (Names, error) {
	if typed == "~" {
		typed = "~/"
	}
	at := strings.LastIndexByte(typed, '/') + 1
	dir, begin := typed[:at], typed[at:]
	where := Expand(dir)
	if where == "" {
		where = "."
	}
	f, err := os.Open(where)
	if err != nil {
		return Names{}, problem("The folder " + untrusted.Text(where).Line(200) + " " + Reason(err))
	}
	defer f.Close()
	out := Names{Common: typed}
	common, found, seen := "", 0, 0
	for ; ; seen += chunk {
		list, err := f.ReadDir(chunk)
		for _, e := range list {
			if !offered(e, begin) {
				continue
			}
			if found++; found == 1 {
				common = e.Name()
			}
			common = both(common, e.Name())
			out.Found = append(out.Found,
				Name{Path: dir + e.Name(), Name: e.Name(), Folder: e.IsDir(), Link: e.Type()&fs.ModeSymlink != 0})
		}
		if len(out.Found) > 2*most {
			out.shorten()
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Names{}, problem("The folder " + untrusted.Text(where).Line(200) + " " + Reason(err))
		}
		if ctx.Err() != nil || seen >= scanned {
			out.More, common = true, ""
			break
		}
	}
	out.shorten()
	out.follow(where)
	if len(common) > len(begin) {
		out.Common = dir + common
	}
	if len(out.Found) == 1 && !out.More {
		out.Common = out.Found[0].Path
	}
	return out, nil
}

// offered reports whether an entry completes what was typed.
func offered(e fs.DirEntry, begin string) bool {
	name := e.Name()
	return strings.HasPrefix(name, begin) && (begin != "" || name[0] != '.') && utf8.ValidString(name) &&
		!strings.ContainsAny(name, "\n\r\t") &&
		(e.IsDir() || e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0)
}

// shorten sorts the names and keeps the first ones.
func (n *Names) shorten() {
	slices.SortFunc(n.Found, func(a, b Name) int {
		if a.Folder != b.Folder {
			if a.Folder {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	if len(n.Found) > most {
		n.Found, n.More = n.Found[:most], true
	}
}

// follow resolves links and ends folders in a slash.
func (n *Names) follow(where string) {
	for i := range n.Found {
		e := &n.Found[i]
		if e.Link {
			st, err := os.Stat(filepath.Join(where, e.Name))
			e.Broken, e.Folder = err != nil, err == nil && st.IsDir()
		}
		if e.Folder {
			e.Path += "/"
		}
	}
}

// both is the common prefix of a and b.
func both(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return a[:n]
}

// head is how many bytes determine the kind of a file.
const head = 512

// Look returns the size of a regular file and its first bytes. Errors are sentences.
func Look(path string) (size int64, begins []byte, err error) {
	st, err := os.Stat(path) // before opening: a pipe would block
	switch {
	case err != nil:
		return 0, nil, problem("The file " + Reason(err))
	case st.IsDir():
		return 0, nil, problem("This is a folder: name a file in it.")
	case !st.Mode().IsRegular():
		return 0, nil, problem("This is not a regular file.")
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, nil, problem("The file " + Reason(err))
	}
	defer f.Close()
	begins = make([]byte, head)
	n, err := io.ReadFull(f, begins)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, nil, problem("The file " + Reason(err))
	}
	return st.Size(), begins[:n], nil
}

// Reason words a file system error as the end of a sentence about the file.
func Reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist."
	case errors.Is(err, fs.ErrPermission):
		return "cannot be read: permission denied."
	case errors.Is(err, syscall.ENOTDIR):
		return "does not exist: a part of the path is not a folder."
	case errors.Is(err, syscall.ENAMETOOLONG):
		return "does not exist: the name is too long."
	case errors.Is(err, syscall.ELOOP):
		return "cannot be read: its links lead in a circle."
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return "cannot be read: " + untrusted.Text(err.Error()).Line(100) + "."
}
