package lending

import "net/http"

// Headers that the proxy adds to its answers.
const (
	HeaderKey     = "X-Opdeck-Key"         // in a request: identifies the borrower
	HeaderLeft    = "X-Opdeck-Budget-Left" // calls of this class that can be sent now
	HeaderWaited  = "X-Opdeck-Waited"      // seconds that the call waited for its slot and the session
	HeaderDoubt   = "X-Opdeck-In-Doubt"    // a write without an answer, done by what a read shows: it may still arrive
	HeaderRequest = "X-Opdeck-Request"     // id of the request at the service
)

// passing are the response headers that a borrower gets. An allow-list keeps back cookies, challenges, addresses and
// anything else that a service or gateway may send.
var passing = []string{"Content-Type", "Content-Language", "Content-Disposition", "Etag", "Last-Modified",
	"X-Total-Count", "Deprecation", "Sunset"}

// Pass copies the allowed response headers. No request header is forwarded: package api makes the request.
func Pass(to, from http.Header) {
	for _, name := range passing {
		if v := from.Get(name); v != "" {
			to.Set(name, v)
		}
	}
	to.Set("Cache-Control", "no-store")
	to.Set("X-Content-Type-Options", "nosniff")
}
