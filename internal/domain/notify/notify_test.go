package notify_test

import (
	"testing"
	"time"

	"opdeck/internal/domain/notify"
	"opdeck/internal/domain/notify/notifytest"
)

// TestMemory is the suite that the databases run too (internal/store/journal), on the store in memory.
func TestMemory(t *testing.T) {
	notifytest.Run(t, func(_ *testing.T, now func() time.Time) []notify.Store {
		m := &notifytest.Memory{Now: now}
		return []notify.Store{m, m, m}
	})
}
