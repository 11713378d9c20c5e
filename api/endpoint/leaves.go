package endpoint

import (
	"slices"
	"strconv"
	"strings"

	"opdeck/api"
	"opdeck/api/jsontree"
)

// leavesOf returns digests of the values of a JSON document with their paths. Paths omit objects that only wrap
// ("application", "item"), since the service documents them for one direction only.
func leavesOf(v jsontree.Value, path, salt string) []string {
	var out []string
	if strings.Count(path, ".") > 64 {
		return nil // no application is nested that deep
	}
	for _, m := range v.Sorted() {
		at := path + "." + m.Name
		if m.Name == "application" || m.Name == "item" || m.Name == "data" {
			at = path
		}
		out = append(out, leavesOf(m.Value, at, salt)...)
	}
	if v.Kind() == jsontree.Array {
		i := 0
		for _, it := range v.Members() {
			out = append(out, leavesOf(it, path+"."+strconv.Itoa(i), salt)...)
			i++
		}
	}
	if s, ok := v.Scalar(); ok && s != "" {
		out = append(out, leaf(salt, path, s))
	}
	slices.Sort(out)
	return out
}

// holds reports whether the application in body has everything that was sent.
func holds(p api.Probe, body api.Object) bool {
	v, ok := api.ApplicationRecord.Find(body.Value)
	if !ok {
		v = body.Value
	}
	return within(p.Leaves, leavesOf(v, "", p.Salt))
}

// within reports whether there has all digests of sent; false if sent is empty.
func within(sent, there []string) bool {
	for _, l := range sent {
		if !slices.Contains(there, l) {
			return false
		}
	}
	return len(sent) > 0
}

// leaf is the digest of one value at its path.
func leaf(salt, path, value string) string {
	return api.HashHex([]byte(salt + "\x00" + path + "\x00" + value))[:32]
}
