package sshserver

import (
	"fmt"
	"net/netip"
	"path"
	"strings"
)

// sources is a list of addresses as in from= and source-address: networks ("10.0.0.0/8"), addresses with * and ?, and
// exclusions with "!".
type sources []source

type source struct {
	not     bool
	network netip.Prefix // valid, or
	pattern string
}

// parseSources parses a comma-separated list. Host names are refused: a name server would decide who may log in.
func parseSources(list string) (sources, error) {
	var out sources
	for item := range strings.SplitSeq(list, ",") {
		var s source
		item, s.not = strings.CutPrefix(strings.TrimSpace(item), "!")
		switch {
		case item == "":
			return nil, fmt.Errorf("an address is empty")
		case strings.Contains(item, "/"):
			p, err := netip.ParsePrefix(item)
			if err != nil {
				return nil, fmt.Errorf("not a network")
			}
			s.network = p.Masked()
		case strings.Trim(item, "0123456789abcdefABCDEF:.*?") != "":
			return nil, fmt.Errorf("only addresses and networks are allowed, not host names")
		default:
			s.pattern = strings.ToLower(item)
		}
		out = append(out, s)
	}
	return out, nil
}

// allow reports whether an address is in the list and not excluded.
func (l sources) allow(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	in := false
	for _, s := range l {
		if !s.matches(a) {
			continue
		}
		if s.not {
			return false
		}
		in = true
	}
	return in
}

func (s source) matches(a netip.Addr) bool {
	if s.network.IsValid() {
		return s.network.Contains(a)
	}
	ok, err := path.Match(s.pattern, a.String())
	return err == nil && ok
}
