package console

import (
	"reflect"
	"testing"
	"time"

	"opdeck/api/limit"
)

// TestTimeAloneIsNoNews: budgets that differ only in how much time has passed between two reads are the same; else the
// feed would pass them on and read again without an end.
func TestTimeAloneIsNoNews(t *testing.T) {
	t.Parallel()
	now, later := limit.Usage{NextSlot: 30.2}, limit.Usage{NextSlot: 30.1}
	durations := 0
	for i := range reflect.TypeFor[limit.Usage]().NumField() {
		a, b := reflect.ValueOf(&now).Elem().Field(i), reflect.ValueOf(&later).Elem().Field(i)
		if a.Type() == reflect.TypeFor[time.Duration]() {
			a.SetInt(int64(30*time.Second + 20*time.Millisecond))
			b.SetInt(int64(30*time.Second - 20*time.Millisecond))
			durations++
		}
	}
	now.Window, later.Window = time.Minute, time.Minute // a constant
	if durations < 6 {
		t.Fatalf("%d durations", durations)
	}
	if a, b := rounded([]limit.Usage{now}), rounded([]limit.Usage{later}); !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\n%+v", a, b)
	}
	later.Full = 0
	if reflect.DeepEqual(rounded([]limit.Usage{now}), rounded([]limit.Usage{later})) {
		t.Error("a budget with room again is no news")
	}
}
