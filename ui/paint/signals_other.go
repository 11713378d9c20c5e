//go:build !unix

package paint

// catchSignals has nothing to catch where there are no signals.
func (s *session) catchSignals() {}

// watchSignals has nothing to watch where there are no signals.
func (s *session) watchSignals() {}

// suspend does nothing where processes cannot be suspended.
func (s *session) suspend() {}
