package mask

import (
	"testing"

	"opdeck/api"
	"opdeck/api/untrusted"
)

func TestPersonal(t *testing.T) {
	for in, want := range map[string]string{"ana@example.com": "a••••@example.com", "ünal@x.de": "ü••••@x.de", "+37255512345": "••••45", "1234": "••••", "": "", "@x": "••••",
		`{"a":"x@h.example","b":"P-5510-2207"}`: "••••\"}"} {
		if got := Personal(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
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
