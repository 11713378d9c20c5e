package journal_test

import (
	"testing"

	"opdeck/internal/domain/answers/answerstest"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

func TestAnswers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		answerstest.Run(t, journal.NewAnswers(s.Core))
	})
}
