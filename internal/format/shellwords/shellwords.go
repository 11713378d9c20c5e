// Package shellwords writes words for a POSIX shell.
package shellwords

import "strings"

// Quote writes a word so that a shell takes it as it is.
func Quote(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Remote writes the words of a command that ssh runs on the other side: ssh joins them
// with spaces, and the other side takes them apart again.
func Remote(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Quote(Quote(w))
	}
	return strings.Join(out, " ")
}
