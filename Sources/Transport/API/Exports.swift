// What an application gets with `import Transport`: `PCMRing` and the refusals of the line.
@_exported public import TransportLine
@_exported public import TransportMedia
