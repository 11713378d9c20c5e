//go:build !linux

package paint

import "os"

// polled is for systems where a terminal can be waited for like a socket.
type polled struct{ *os.File }

func poll(*os.File) *polled { return nil }

// Cancel does nothing.
func (polled) Cancel() {}
