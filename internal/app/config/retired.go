package config

import "github.com/BurntSushi/toml"

// retired are the keys that left, with what to write or do instead.
var retired = map[string]string{
	"audit.witnesses": "keep what opdeck audit checkpoint prints, and compare with opdeck audit verify --against FILE",
	"ui.viewer":       "save a document with w, or with opdeck document download, and open the file",
}

// unknown is the mistake of a key that no section has: its substitute if it is retired, else the name that is meant.
func unknown(k toml.Key) string {
	if instead := retired[k.String()]; instead != "" {
		return "retired; instead, " + instead
	}
	return "unknown key" + similar(k)
}
