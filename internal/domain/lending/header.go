package lending

import "net/http"

// Headers that the proxy adds to its answers.
const (
	HeaderKey     = "X-Opdeck-Key"         // of a request: names the borrower
	HeaderLeft    = "X-Opdeck-Budget-Left" // calls of this class that may go now
	HeaderWaited  = "X-Opdeck-Waited"      // seconds that the call waited for its slot and the session
	HeaderRequest = "X-Opdeck-Request"     // id of the request at the service
)

// passing are the headers of an answer that a borrower gets. A list of what passes
// forgets nothing: cookies, challenges, addresses and whatever else a service or
// gateway may send stay here.
var passing = []string{"Content-Type", "Content-Language", "Content-Disposition", "Etag", "Last-Modified",
	"X-Total-Count", "Deprecation", "Sunset"}

// Pass copies what a borrower gets of an answer's header. Nothing of a request's
// header is forwarded: package api makes the request.
func Pass(to, from http.Header) {
	for _, name := range passing {
		if v := from.Get(name); v != "" {
			to.Set(name, v)
		}
	}
	to.Set("Cache-Control", "no-store")
	to.Set("X-Content-Type-Options", "nosniff")
}
