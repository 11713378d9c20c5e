package api

import (
	"cmp"
	"slices"
	"strconv"

	"opdeck/api/untrusted"
)

// Is reports whether the file has that name and size.
func (f CustomerFile) Is(name string, size int64) bool {
	r := ObjectOf(f.Raw)
	return r.First("size") == strconv.FormatInt(size, 10) &&
		slices.ContainsFunc([]string{"fileName", "name", "originalName"}, func(k string) bool { return r.First(k) == name })
}

// Made is when the file was created; zero: not reported.
func (f CustomerFile) Made() Time {
	r := ObjectOf(f.Raw)
	for _, k := range []string{"createdAt", "createAt", "uploadedAt"} {
		if at := timeOf(Number(r.First(k))); !at.IsZero() {
			return at
		}
	}
	return Time{}
}

// Lock says whether the file is locked.
func (f CustomerFile) Lock() Lock { return LockIn(ParseJSON(f.Raw)) }

// Title is the file's name, whichever member holds it.
func (f CustomerFile) Title() untrusted.Text { return cmp.Or(f.FileName, f.Name) }

// UnmarshalJSON reads the named fields and keeps the whole record in Raw. The id may have any of the names that an
// upload's may have.
func (f *CustomerFile) UnmarshalJSON(b []byte) error {
	return keepRecord(b, f, &f.Raw)
}
