package mask

import (
	"testing"

	"opdeck/api"
	"opdeck/api/untrusted"
)

func TestDetail(t *testing.T) {
	for _, c := range []struct {
		d      api.Detail
		masked bool
		want   untrusted.Text
	}{
		{api.Detail{Label: "email", Value: "ana@example.com"}, false, "ana@example.com"},
		{api.Detail{Label: "email", Value: "ana@example.com"}, true, "a••••@example.com"},
		{api.Detail{Value: "pay DE89370400440532013000 now"}, true, "pay ••••3000 now"},
	} {
		if got := Detail(c.d, c.masked); got != c.want {
			t.Errorf("%+v is %q", c.d, got)
		}
	}
}
