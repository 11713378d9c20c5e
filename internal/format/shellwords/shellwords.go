// Package shellwords quotes words for a POSIX shell.
package shellwords

import "strings"

// Quote quotes a word so that a shell passes it unchanged.
func Quote(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Remote quotes the words of a command for ssh, which joins them with spaces for the remote shell to split.
func Remote(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Quote(Quote(w))
	}
	return strings.Join(out, " ")
}
