// Command whoami prints the user who runs it, for tests.
package main

import (
	"encoding/json"
	"os"

	"opdeck/internal/system/localuser"
)

func main() {
	if err := json.NewEncoder(os.Stdout).Encode(localuser.Current()); err != nil {
		os.Exit(1)
	}
}
