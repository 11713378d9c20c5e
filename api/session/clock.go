package session

import (
	"time"

	"opdeck/api/limit"
)

// Clock has wall and steady time; see limit.Clock.
type Clock = limit.Clock

// SystemClock is the host's clock.
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

func (systemClock) Wall() time.Time { return time.Now().Round(0) }

var started = time.Now()

// processTime counts from the start of the process.
func processTime() time.Duration { return time.Since(started) }
