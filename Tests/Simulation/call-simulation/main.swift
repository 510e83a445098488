print("no simulation yet")
