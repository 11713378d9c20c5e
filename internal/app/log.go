package app

import (
	"io"
	"log/slog"
	"strings"

	"opdeck/api/redact"
	"opdeck/api/untrusted"
	"opdeck/internal/app/config"
)

// secretKeys are attribute names whose values are never logged.
var secretKeys = []string{"authorization", "token", "password", "secret", "jwt", "cookie"}

// NewLog returns the program's log: one line a record, no secret, no control characters. verbose adds debug records.
func NewLog(w io.Writer, verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: clean}))
}

// serveHandler is the log of opdeck serve as [serve] describes it, with the promises of NewLog. verbose adds debug
// records.
func serveHandler(w io.Writer, c config.Serve, verbose bool) slog.Handler {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil || verbose { // the config is valid
		level = slog.LevelDebug
	}
	opt := &slog.HandlerOptions{Level: level, ReplaceAttr: clean}
	if c.LogFormat == "json" {
		return slog.NewJSONHandler(w, opt)
	}
	return slog.NewTextHandler(w, opt)
}

// clean removes secrets by attribute name and by shape, and makes text safe to draw (the handler quotes control
// characters, but no others).
func clean(_ []string, a slog.Attr) slog.Attr {
	name := strings.ToLower(a.Key)
	for _, k := range secretKeys {
		if strings.Contains(name, k) {
			return slog.String(a.Key, "••••")
		}
	}
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, safe(v.String()))
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			return slog.String(a.Key, safe(redact.Said(err.Error()))) // it may quote an answer
		}
		if u, ok := v.Any().(untrusted.Text); ok {
			return slog.String(a.Key, safe(string(u)))
		}
	}
	return a
}

func safe(s string) string { return untrusted.Text(redact.Scrub(s)).Line(2000) }
