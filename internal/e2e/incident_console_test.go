//go:build linux

package e2e

import (
	"strings"
	"time"
	"unicode"
)

// consoleSays: the on-call page has the sentence, and in a small window its beginning; the error of a console that does
// not open has fails. Its own calls change times and numbers, so only what comes before them is compared.
func (s *scene) consoleSays(said, fails string) string {
	if !consoles() {
		return ""
	}
	said = letters(clockTimes.Split(said, 2)[0])
	if wrong := s.opens(80, 24, said, letters(fails)); wrong != "" {
		return wrong
	}
	const begins = 60
	return s.opens(40, 12, said[:min(len(said), begins)], letters(fails))
}

// opens opens the console, goes to the on-call page and returns what is drawn if that is not the sentence; of a console
// that ends, fails.
func (s *scene) opens(width, height int, said, fails string) string {
	x := start(s.t, width, height, s.home, s.env)
	defer x.stop()
	screen, pressed := "", time.Time{}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if screen = x.screen(); strings.Contains(letters(screen), said) {
			return ""
		}
		select {
		case <-x.ended:
			time.Sleep(200 * time.Millisecond) // what it wrote last
			if screen = x.screen(); strings.Contains(letters(screen), fails) {
				return ""
			}
			return screen
		default:
		}
		if time.Since(pressed) > 3*soon && strings.Contains(screen, "Operations") {
			x.press("B")
			pressed = time.Now()
		}
	}
	return screen
}

// letters are the characters of a text that no frame or line end parts.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r >= '─' && r <= '╿' {
			return -1
		}
		return r
	}, text)
}
